"""Agents: contracts, the loop, tool sets and the formats of model providers. A stranger to MCP."""

from runtime.ai.contracts import Image, Message, Model, Part, Text, Tool, ToolCall, ToolProvider, ToolResult

__all__ = ["Image", "Message", "Model", "Part", "Text", "Tool", "ToolCall", "ToolProvider", "ToolResult"]
