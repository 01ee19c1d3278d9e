"""`Http.*`: plain requests to web services, for agents that need no MCP server for them."""
