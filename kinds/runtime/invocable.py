"""`Runtime.Invocable`: anything that a target or a tool can run."""

from runtime.contracts import Invocable

__all__ = ["Invocable"]
