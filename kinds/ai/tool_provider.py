"""`Ai.ToolProvider`: anything that offers tools to agents."""

from runtime.ai.contracts import ToolProvider

__all__ = ["ToolProvider"]
