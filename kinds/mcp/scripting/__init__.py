"""The script of `Mcp.ScriptedServer`: its fields, and how it is played."""
