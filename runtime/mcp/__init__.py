"""MCP: connections to servers and the processes behind them. A stranger to agents and models."""

from runtime.mcp.contracts import Client, ServerInfo

__all__ = ["Client", "ServerInfo"]
