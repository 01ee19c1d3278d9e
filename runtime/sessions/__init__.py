"""Sessions: what was said with an agent under a name, kept in a file or a database."""
