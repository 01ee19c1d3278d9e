"""Tools that the caller of one run has: offered beside those of the agent, and carried out by the caller."""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.ai.contracts import Tool
from runtime.ai.tool_set import BoundTool, Offer, Source, ToolSet
from runtime.errors import AgentError, ToolError


class CallerTools:
    """The caller as a provider of tools that nothing here can run."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools

    async def list_tools(self) -> Sequence[Tool]:
        return self._tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        raise ToolError(f'the tool "{name}" is the caller\'s, who carries it out')


class ExtendedTools:
    """The tools of an agent and those of one caller, as one offer."""

    def __init__(self, tools: ToolSet, more: Sequence[Tool]) -> None:
        self._tools = tools
        self._source = Source(CallerTools(more), "the caller")
        self._more = more
        self._own: Offer | None = None
        self._offer = Offer({}, "")

    @property
    def instructions(self) -> list[str]:
        """As those of the agent."""
        return self._tools.instructions

    async def offer(self) -> Offer:
        """The tools as they are now. Raises as `ToolSet.offer`, and `AgentError` ERR_AGENT_CALLER_TOOL."""
        own = await self._tools.offer()
        if own is not self._own:
            self._offer = self._extend(own)
            self._own = own
        return self._offer

    def _extend(self, own: Offer) -> Offer:
        bound = dict(own.bound)
        for tool in self._more:
            if tool.name in bound:
                raise self._refuse(tool.name, "there is another one of that name")
            bound[tool.name] = BoundTool(tool, tool.name, self._source, _ignore, is_callers=True)
        offer = self._tools.convert(bound)
        for aside in offer.set_aside:
            if bound[aside.tool.name].is_callers:
                raise self._refuse(aside.tool.name, aside.reason)
        return offer

    def _refuse(self, name: str, reason: str) -> AgentError:
        return AgentError(
            f'the tool "{name}" of the caller cannot be offered: {reason}',
            code="ERR_AGENT_CALLER_TOOL",
            resource=self._tools.agent,
            details={"tool": name},
        )


def _ignore(message: str) -> None:
    """Nothing runs the caller's tools here, so that nothing is told of them."""
