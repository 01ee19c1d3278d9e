"""`Ai.Tools`: agents and other things that can be run, offered as tools."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from runtime.ai.contracts import Image, Text, Tool, ToolProvider, ToolResult
from runtime.contracts import Invocable
from runtime.errors import StartError, ToolError
from runtime.json_schema import find_schema_faults
from runtime.kind import FIXED, Context, Fields, Inspection, Kind, Slot, kind, per_call

if TYPE_CHECKING:
    from runtime.known_inputs import KnownInputs
    from runtime.known_tools import KnownTool


KEPT = {"idempotentHint": True}
"""Annotations of what keeps its own runs: the same call gives the same run, and goes on with it."""


class ToolEntry(Fields):
    """One tool."""

    tool: Slot[Invocable, "What runs when the model calls the tool."]
    parameters: Annotated[
        dict[str, Any], Meta(description="The JSON Schema of the tool's arguments.", extra_json_schema=FIXED)
    ]
    name: (
        Annotated[
            str,
            Meta(
                description="The tool's name; without it the name of what runs.", min_length=1, extra_json_schema=FIXED
            ),
        ]
        | UnsetType
    ) = UNSET
    description: Annotated[
        str, Meta(description="What the tool does and when to use it, for the model.", extra_json_schema=FIXED)
    ] = ""
    inputs: (
        Annotated[
            dict[str, Any],
            Meta(
                description="The inputs of what runs, made from `arguments`; without it the arguments themselves.",
                extra_json_schema=per_call(arguments="parameters"),
            ),
        ]
        | UnsetType
    ) = UNSET
    result: Annotated[
        Any,
        Meta(
            description="What the model reads, made from `result`; without it an agent's answer, or else all of it.",
            extra_json_schema=per_call("result"),
        ),
    ] = UNSET


@kind("Ai.Tools", implements=ToolProvider)
class Tools(Kind):
    """Agents and other things that can be run, offered as tools."""

    tools: Annotated[
        list[ToolEntry], Meta(description="The tools, in the order in which they are listed.", min_length=1)
    ]

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: `parameters` that are no JSON Schema, at the faulty place; inputs that what runs does not take,
        and those that it lacks."""
        for path, parameters in inspection.find("tools", "*", "parameters"):
            for inside, fault in find_schema_faults(parameters):
                inspection.report("SCHEMA_VALUE", (*path, *inside), fault)
        for path, entry in inspection.find("tools", "*"):
            target = inspection.at(*path, "tool")
            known = target.kind.known_inputs(target) if target is not None else None
            if known is not None and isinstance(entry, Mapping):
                _check_inputs(inspection, path, entry, known)

    @classmethod
    def known_tools(cls, inspection: Inspection) -> "Sequence[KnownTool]":
        """The tools as they stand in the manifest."""
        from runtime.known_tools import KnownTool

        found = []
        for path, entry in inspection.find("tools", "*"):
            if not isinstance(entry, Mapping):
                continue
            target = inspection.at(*path, "tool")
            name = entry.get("name", target.title if target is not None else None)
            if type(name) is str:
                found.append(KnownTool(name, partial(_define, entry)))
        return found

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[ToolProvider]:
        yield StaticTools(context, self.tools)


def _check_inputs(
    inspection: Inspection, path: tuple[str | int, ...], entry: Mapping[str, Any], known: "KnownInputs"
) -> None:
    """What an entry gives to what runs, by name: its `inputs`, or else the arguments that its `parameters` allow."""
    inputs, parameters = entry.get("inputs"), entry.get("parameters")
    if "inputs" in entry:
        place, given, always = "inputs", inputs, inputs
    else:
        place, given = "parameters", parameters.get("properties", {}) if isinstance(parameters, Mapping) else None
        always = parameters.get("required", []) if isinstance(parameters, Mapping) else None
    if not isinstance(given, Mapping) or not isinstance(always, Mapping | list):
        return
    for name in known.find_unknown(given):
        where = (*path, place, name) if place == "inputs" else (*path, place, "properties", name)
        inspection.report("SCHEMA_VALUE", where, f'what runs takes no "{name}"', known.describe())
    for name in known.find_missing(always):
        wrong = f'what runs needs "{name}"'
        if place == "parameters":
            wrong += ", which is not among the `required` parameters"
        inspection.report("SCHEMA_VALUE", (*path, place), wrong, known.describe())


def _define(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": entry.get("description"), "inputSchema": entry.get("parameters")}


class StaticTools:
    """A fixed list of tools; calling one evaluates its inputs, runs it and evaluates its result."""

    def __init__(self, context: Context, entries: Sequence[ToolEntry]) -> None:
        self.name = context.name
        self._context = context
        self._entries: dict[str, ToolEntry] = {}
        for place, entry in enumerate(entries):
            name = entry.name if isinstance(entry.name, str) else getattr(entry.tool, "name", "")
            if not name:
                raise StartError(f"tools[{place}] needs a `name`: what it runs has none", resource=context.name)
            if name in self._entries:
                raise StartError(f'two of the tools are named "{name}"', resource=context.name)
            self._entries[name] = entry
        self._tools = [
            Tool(name, entry.description, entry.parameters, KEPT if getattr(entry.tool, "is_kept", False) else {})
            for name, entry in self._entries.items()
        ]

    @property
    def summary(self) -> str:
        """What a start tells of it: how many tools there are."""
        return f"{len(self._tools)} tool{'' if len(self._tools) == 1 else 's'}"

    async def list_tools(self) -> Sequence[Tool]:
        return self._tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        from runtime.ai.nesting import run_below

        entry = self._entries.get(name)
        if entry is None:
            raise ToolError(f'there is no tool "{name}"', code="ERR_TOOL_UNKNOWN", resource=self.name)
        inputs: Any = arguments
        if entry.inputs is not UNSET:
            inputs = self._context.evaluate(entry.inputs, {"arguments": arguments})
        result = await run_below(entry.tool, inputs)
        output = result
        rest: Sequence[Any] = ()
        if _is_run(result):
            output, rest = result.get("output", result["text"]), [result]
            if result.get("images") and "output" not in result:
                images = [Image(image["data"], image["mediaType"]) for image in result["images"]]
                output = [Text(output), *images] if output else images
        if entry.result is not UNSET:
            output = self._context.evaluate(entry.result, {"result": result})
        return ToolResult(output, rest)


def _is_run(result: Any) -> bool:
    """Whether a result is an agent's: its whole trace goes to the caller's trace, and only its answer to the model."""
    return isinstance(result, Mapping) and isinstance(result.get("text"), str) and "steps" in result
