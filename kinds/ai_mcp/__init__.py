"""`AiMcp.*`: the bridge between MCP servers and agents; the only place that knows both."""
