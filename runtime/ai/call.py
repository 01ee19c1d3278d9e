"""A tool call of the model's: what it asks for, which tool that is, and why it is not made."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from runtime.ai.contracts import ToolCall
from runtime.ai.events import ToolCalled
from runtime.ai.formats.arguments import decode
from runtime.ai.tool_set import BoundTool, Offer
from runtime.errors import ToolError


class Call(Struct, frozen=True):
    """A call of a turn: as the model wanted it, as it is told, and the tool that runs, or the fault that bars it."""

    wanted: ToolCall
    told: ToolCalled
    tool: BoundTool | None = None
    fault: ToolError | None = None

    @property
    def is_callers(self) -> bool:
        """Whether it is left to the caller of the run."""
        return self.tool is not None and self.tool.is_callers


def resolve_calls(calls: Sequence[ToolCall], offer: Offer) -> list[Call]:
    """Each call with its tool and arguments; one with a fault reaches no provider."""
    return [_resolve(call, offer) for call in calls]


def _resolve(call: ToolCall, offer: Offer) -> Call:
    tool = offer.find(call.name)
    name = tool.name if tool is not None else call.name
    arguments: Any = call.arguments
    try:
        arguments = decode(call.arguments)
        if tool is None:
            raise _unknown(name, offer)
        arguments = offer.accept(call.name, arguments)
    except ToolError as error:
        error = error if tool is not None else _unknown(name, offer)
        return Call(call, ToolCalled(call.id, name, arguments), fault=error)
    return Call(call, ToolCalled(call.id, name, arguments), tool)


def _unknown(name: str, offer: Offer) -> ToolError:
    offered = ", ".join(tool.name for tool in offer.tools) or "none"
    return ToolError(f'there is no tool "{name}"; the tools are: {offered}', code="ERR_TOOL_UNKNOWN")
