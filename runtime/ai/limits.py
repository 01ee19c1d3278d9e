"""Limits of a run: tokens, cost, tool calls and time; going past one ends the run."""

from collections.abc import Awaitable
from typing import TypeVar

import anyio
from msgspec import Struct, UnsetType

from runtime.ai.contracts import Usage
from runtime.errors import AgentError

T = TypeVar("T")


class Limits(Struct, frozen=True):
    """The most that one run may use; None is no limit."""

    tokens: int | None = None
    tool_calls: int | None = None
    seconds: float | None = None
    cost: float | None = None


class Budget:
    """What is left of one run's limits; every method raises `AgentError` ERR_AGENT_LIMIT when nothing is."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._calls = 0
        self._deadline = anyio.current_time() + limits.seconds if limits.seconds is not None else None

    def spend_calls(self, count: int) -> None:
        """Before the calls of a turn run: none of them does when they are too many."""
        self._calls += count
        limit = self._limits.tool_calls
        if limit is not None and self._calls > limit:
            raise _past("toolCalls", limit, f"the model wants tool call {self._calls}, and {limit} are allowed")

    def check_usage(self, usage: Usage) -> None:
        """Before the model is asked again."""
        limit = self._limits.tokens
        if limit is not None and usage.total_tokens >= limit:
            raise _past("tokens", limit, f"the run used {usage.total_tokens} tokens, and {limit} are allowed")
        most = self._limits.cost
        if most is None or not usage.total_tokens:
            return
        if isinstance(usage.cost, UnsetType):
            raise AgentError(
                "the run has a limit of cost, and its model has no prices",
                code="ERR_AGENT_LIMIT",
                hint="give the model `prices`, or take `limits.cost` off the agent",
                details={"limit": "cost", "value": most},
            )
        if usage.cost >= most:
            raise _past("cost", most, f"the run cost {usage.cost:g}, and {most:g} is allowed")

    async def bound(self, work: Awaitable[T]) -> T:
        """The result of the work, which is cancelled when the run's time is over."""
        if self._deadline is None:
            return await work
        with anyio.CancelScope(deadline=self._deadline) as scope:
            return await work
        seconds = self._limits.seconds or 0
        if scope.cancelled_caught:
            raise _past("seconds", seconds, f"the run is not done after {seconds:g} s")
        raise RuntimeError("a scope without cancellation ended without a result")


def _past(name: str, limit: float, message: str) -> AgentError:
    return AgentError(
        message,
        code="ERR_AGENT_LIMIT",
        hint=f"raise `limits.{name}` on the agent",
        details={"limit": name, "value": limit},
    )
