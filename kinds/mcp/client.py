"""`Mcp.Client`: any connection to an MCP server."""

from runtime.mcp.contracts import Client

__all__ = ["Client"]
