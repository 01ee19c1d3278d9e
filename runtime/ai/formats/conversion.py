"""A list of tools in, the provider's list out, with the table and the report that go with it."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from runtime.ai.contracts import Tool
from runtime.ai.formats.arguments import ArgumentCheck
from runtime.ai.formats.encoding import encode
from runtime.ai.formats.format import Format, InexpressibleError, Memory
from runtime.ai.formats.names import offer
from runtime.ai.formats.report import Entry, Rename, Report, SetAside
from runtime.errors import AgentError, ToolError, UsageError

FORMATS = ("openai", "openai-responses", "anthropic", "gemini", "gemini-parameters")
"""The names of the formats."""


class ConvertedTool(msgspec.Struct, frozen=True):
    """A tool as one provider sees it: `definition` is what it was turned into, `name` what the model calls."""

    name: str
    tool: Tool
    definition: dict[str, Any]
    renames: Sequence[Rename]
    report: Report

    @property
    def entries(self) -> Sequence[Entry]:
        """What the conversion did to the tool, in order."""
        return self.report.entries()


class Converted:
    """Tools in a provider's format. All values are read-only: schemas may be shared with the tools themselves."""

    def __init__(self, format: Format, tools: Sequence[ConvertedTool], set_aside: Sequence[SetAside]) -> None:
        self.format = format.name
        self.tools = tuple(tools)
        self.set_aside = tuple(set_aside)
        self._collect = format.collect
        self._checks: dict[str, ArgumentCheck] = {}
        self._by_name = {converted.name: converted for converted in tools}

    @cached_property
    def payload(self) -> list[dict[str, Any]]:
        """The provider's list of tools, as JSON values."""
        return self._collect([converted.definition for converted in self.tools])

    @cached_property
    def encoded(self) -> bytes:
        """`payload` as JSON text, encoded once."""
        return encode(self.payload)

    @cached_property
    def mapping(self) -> list[dict[str, Any]]:
        """What it takes to turn a call back: `{name, tool, renames: [{path, from, to}]}` for each tool that differs."""
        return [
            {
                "name": converted.name,
                "tool": converted.tool.name,
                "renames": [
                    {"path": rename.path, "from": rename.original, "to": rename.offered} for rename in converted.renames
                ],
            }
            for converted in self.tools
            if converted.renames or converted.name != converted.tool.name
        ]

    def find(self, name: str) -> ConvertedTool:
        """The tool that the model calls `name`; raises `ToolError` with `ERR_TOOL_UNKNOWN` for one not offered."""
        converted = self._by_name.get(name)
        if converted is None:
            raise ToolError(
                f'there is no tool named "{name}"',
                code="ERR_TOOL_UNKNOWN",
                hint=f"the tools are: {', '.join(self._by_name) or 'none'}",
            )
        return converted

    def accept(self, name: str, arguments: Mapping[str, Any]) -> tuple[Tool, dict[str, Any]]:
        """As `restore`, and the arguments checked against the tool's own schema.

        Raises `ToolError`: `ERR_TOOL_UNKNOWN`, or `ERR_TOOL_ARGUMENTS` in words and keys that the model knows.
        """
        tool, restored = self.restore(name, arguments)
        if name not in self._checks:
            self._checks[name] = ArgumentCheck(tool.parameters, self._by_name[name].renames)
        return tool, self._checks[name].accept(name, restored)

    def restore(self, name: str, arguments: Mapping[str, Any]) -> tuple[Tool, dict[str, Any]]:
        """The tool that the model calls `name`, and the arguments as the tool's own schema spells them.

        Raises `ToolError` with `ERR_TOOL_UNKNOWN` for a name that was not offered.
        """
        converted = self.find(name)
        own = {rename.offered: rename.original for rename in converted.renames}
        return converted.tool, {own.get(key, key): value for key, value in arguments.items()}


def convert(
    tools: Sequence[Tool],
    format: str,
    *,
    strict: bool = False,
    max_tools: int | None = None,
    memory: Memory | None = None,
) -> Converted:
    """Turn tools into the provider's format; pure, deterministic, and the tools stay as they are.

    `format` is one of `FORMATS`. With `strict`, a tool takes the provider's strict form if that loses nothing.
    `max_tools` takes the place of the provider's own limit. `memory` spares what was done before, when the same tools
    go into several formats. Each name may occur once; what cannot be offered is set aside with a reason and leaves the
    others alone. Raises `UsageError` for an unknown format or one without a strict form, and `AgentError` with
    `ERR_AGENT_TOOL_LIMIT` for more tools than the provider takes.
    """
    if format not in FORMATS:
        raise UsageError(f'there is no tool format "{format}"', hint=f"the formats are: {', '.join(FORMATS)}")
    known = _find_format(format)
    adapt = known.adapt_strictly if strict else known.adapt
    if adapt is None:
        raise UsageError(f'the format "{format}" has no strict form', hint="leave `strict` out")
    distinct, set_aside = _drop_doubles(tools)
    limit = known.max_tools if max_tools is None else max_tools
    if limit is not None and len(distinct) > limit:
        raise AgentError(
            f'{len(distinct)} tools are more than the {limit} that the format "{format}" takes in one request',
            code="ERR_AGENT_TOOL_LIMIT",
            hint="choose among them with include or exclude on the agent's toolProviders",
        )
    offered = offer([tool.name for tool in distinct])
    memory = Memory() if memory is None else memory
    converted = []
    for tool, name in zip(distinct, offered, strict=True):
        try:
            report = Report()
            adapted = adapt(tool.parameters, report, memory)
            description = "\n\n".join([*filter(None, [tool.description]), *adapted.remarks])
            definition = known.declare(name, description, adapted)
            converted.append(ConvertedTool(name, tool, definition, adapted.renames, report))
        except InexpressibleError as error:
            set_aside.append(SetAside(tool, str(error)))
        except RecursionError:
            set_aside.append(SetAside(tool, "its schema holds values that are nested too deep"))
    return Converted(known, converted, set_aside)


def _find_format(name: str) -> Format:
    """The format of that name; a run needs one, so the others are not imported."""
    if name == "anthropic":
        from runtime.ai.formats.anthropic import MESSAGES

        return MESSAGES
    if name.startswith("gemini"):
        from runtime.ai.formats.gemini import JSON_SCHEMA, PARAMETERS

        return JSON_SCHEMA if name == "gemini" else PARAMETERS
    from runtime.ai.formats.openai import CHAT, RESPONSES

    return CHAT if name == "openai" else RESPONSES


def _drop_doubles(tools: Sequence[Tool]) -> tuple[list[Tool], list[SetAside]]:
    first: dict[str, Tool] = {}
    set_aside = []
    for tool in tools:
        if tool.name in first:
            set_aside.append(SetAside(tool, f'another tool before it is named "{tool.name}" too'))
        else:
            first[tool.name] = tool
    return list(first.values()), set_aside
