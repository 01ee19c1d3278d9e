"""`Mcp.*`: connections to MCP servers; nothing here knows agents."""
