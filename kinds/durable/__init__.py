"""`Durable.*`: stores in which runs are kept."""
