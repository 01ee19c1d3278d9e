"""`Ai.Model`: any model that an agent can ask."""

from runtime.ai.contracts import Model

__all__ = ["Model"]
