"""`Ai.Handoff`: a tool by which an agent hands the conversation over to another one."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from runtime.ai.contracts import Tool, ToolProvider, ToolResult
from runtime.contracts import Invocable
from runtime.errors import ToolError
from runtime.kind import FIXED, Context, Inspection, Kind, Slot, kind

if TYPE_CHECKING:
    from runtime.known_tools import KnownTool

PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}


@kind("Ai.Handoff", implements=ToolProvider)
class Handoff(Kind):
    """A tool by which an agent hands the conversation over to another one, whose answer ends the run."""

    agent: Slot[Invocable, "Who gets the messages so far and answers."]
    name: (
        Annotated[
            str,
            Meta(
                description="The tool's name; without it `transfer_to_` and the agent's.",
                min_length=1,
                extra_json_schema=FIXED,
            ),
        ]
        | UnsetType
    ) = UNSET
    description: Annotated[
        str, Meta(description="When to hand over, for the model.", min_length=1, extra_json_schema=FIXED)
    ] = "Hand the conversation over to another agent, whose answer is the last word."

    @classmethod
    def known_tools(cls, inspection: Inspection) -> "Sequence[KnownTool] | None":
        """The one tool."""
        from runtime.known_tools import KnownTool

        agent = inspection.at("agent")
        given = dict(inspection.find("name")).get(("name",))
        name = given if type(given) is str else f"transfer_to_{agent.title}" if agent is not None else None
        return [KnownTool(name, lambda: {"inputSchema": PARAMETERS})] if name is not None else None

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[ToolProvider]:
        name = self.name if isinstance(self.name, str) else f"transfer_to_{getattr(self.agent, 'name', 'agent')}"
        yield HandoffTool(context.name, self.agent, Tool(name, self.description, PARAMETERS))


class HandoffTool:
    """Offers one tool, whose result is the answer of the other agent."""

    def __init__(self, name: str, agent: Invocable, tool: Tool) -> None:
        self.name = name
        self._agent = agent
        self._tools = [tool]

    async def list_tools(self) -> Sequence[Tool]:
        return self._tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """The other agent's answer to the conversation of the run that calls.

        Raises `ToolError`: ERR_TOOL_UNKNOWN; ERR_AGENT_HANDOFF outside of a run, and for what answers as no agent does.
        """
        from runtime.ai.nesting import find_caller, run_below

        if name != self._tools[0].name:
            raise ToolError(f'there is no tool "{name}"', code="ERR_TOOL_UNKNOWN", resource=self.name)
        caller = find_caller()
        if caller is None:
            raise ToolError("there is no run to hand over", code="ERR_AGENT_HANDOFF", resource=self.name)
        messages = [message for message in caller.messages if message.role != "system"]
        answer = await run_below(self._agent, {"messages": messages})
        if not isinstance(answer, Mapping) or not {"text", "finishReason"} <= answer.keys():
            raise ToolError("who took over gave no agent's answer", code="ERR_AGENT_HANDOFF", resource=self.name)
        return ToolResult(answer["text"], [answer], ends_run=True)
