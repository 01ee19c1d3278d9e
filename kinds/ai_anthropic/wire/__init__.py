"""The bodies of the Messages API: what it takes, and what it gives."""
