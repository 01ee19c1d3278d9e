"""Real servers on loopback for tests: one that speaks as a model provider, and MCP servers as child processes."""
