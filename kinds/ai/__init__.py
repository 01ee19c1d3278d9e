"""`Ai.*`: agents, tools of other tools, the scripted model; nothing here knows MCP or a provider."""
