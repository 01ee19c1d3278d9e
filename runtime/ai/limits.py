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
    """What is left of one run's limits; methods raise `AgentError` ERR_AGENT_LIMIT when nothing is.

    `outer` is that of the run for which this one works: what this one uses counts there as well, and so on. `used` is
    what the turns of the run took, and those of the runs below it.
    """

    def __init__(self, agent: str, limits: Limits, outer: "Budget | None" = None) -> None:
        self.used = Usage()
        self._agent = agent
        self._outer = outer
        self._unpriced = ""  # an agent of whose turns nobody knows the cost
        self._limits = limits
        self._calls = 0
        self._deadline = anyio.current_time() + limits.seconds if limits.seconds is not None else None

    def spend_calls(self, count: int) -> None:
        """Before the calls of a turn run: none of them does when they are too many."""
        self._calls += count
        limit = self._limits.tool_calls
        if limit is not None and self._calls > limit:
            raise self._past("toolCalls", limit, f"the model wants tool call {self._calls}, and {limit} are allowed")

    def spend(self, usage: Usage) -> None:
        """After a turn of the model; raises nothing, so that an answer that is complete can be had."""
        budget: Budget | None = self
        while budget is not None:
            budget.used += usage
            if usage.total_tokens and isinstance(usage.cost, UnsetType):
                budget._unpriced = budget._unpriced or self._agent
            budget = budget._outer

    def check_usage(self) -> None:
        """Before the model is asked again; the limits of the runs for which this one works hold as well."""
        budget: Budget | None = self
        while budget is not None:
            budget._check_own()
            budget = budget._outer

    def _check_own(self) -> None:
        limit, used = self._limits.tokens, self.used
        if limit is not None and used.total_tokens >= limit:
            raise self._past("tokens", limit, f"the run used {used.total_tokens} tokens, and {limit} are allowed")
        most = self._limits.cost
        if most is None:
            return
        if self._unpriced:
            whose = "its model" if self._unpriced == self._agent else f'the model of "{self._unpriced}"'
            raise AgentError(
                f"the run has a limit of cost, and {whose} has no prices",
                code="ERR_AGENT_LIMIT",
                resource=self._agent,
                hint="give the model `prices`, or take `limits.cost` off the agent",
                details={"limit": "cost", "value": most},
            )
        if not isinstance(used.cost, UnsetType) and used.cost >= most:
            raise self._past("cost", most, f"the run cost {used.cost:g}, and {most:g} is allowed")

    async def bound(self, work: Awaitable[T]) -> T:
        """The result of the work, which is cancelled when the run's time is over."""
        if self._deadline is None:
            return await work
        with anyio.CancelScope(deadline=self._deadline) as scope:
            return await work
        seconds = self._limits.seconds or 0
        if scope.cancelled_caught:
            raise self._past("seconds", seconds, f"the run is not done after {seconds:g} s")
        raise RuntimeError("a scope without cancellation ended without a result")

    def _past(self, name: str, limit: float, message: str) -> AgentError:
        return AgentError(
            message,
            code="ERR_AGENT_LIMIT",
            resource=self._agent,
            hint=f"raise `limits.{name}` on the agent",
            details={"limit": name, "value": limit},
        )
