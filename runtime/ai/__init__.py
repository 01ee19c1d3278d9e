"""Agents: contracts, the loop, tool sets and the formats of model providers. A stranger to MCP."""

from runtime.ai.approval import ApprovalRequest, Decision, approvals_by
from runtime.ai.contracts import Image, Message, Model, Part, Text, Tool, ToolCall, ToolProvider, ToolResult

__all__ = [
    "ApprovalRequest",
    "Decision",
    "Image",
    "Message",
    "Model",
    "Part",
    "Text",
    "Tool",
    "ToolCall",
    "ToolProvider",
    "ToolResult",
    "approvals_by",
]
