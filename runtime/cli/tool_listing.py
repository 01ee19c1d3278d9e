"""Tools as `runtime tools` shows them: a table, JSON, a provider's own format, the report of a conversion."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.ai.contracts import Tool
from runtime.ai.formats import Converted, convert
from runtime.cli.output import print_json
from runtime.errors import UsageError
from runtime.masking import Masker, mask_json

FORMATS = ("table", "json", "openai", "openai-responses", "anthropic", "gemini", "gemini-parameters")


class Listed(msgspec.Struct):
    """A tool under the name it is offered by, and where it comes from."""

    tool: Tool
    provider: str = ""
    own_name: str = ""

    @classmethod
    def of(cls, bound: Any) -> "Listed":
        """An agent's tool (`runtime.ai.tool_set.BoundTool`)."""
        tool = Tool(bound.name, bound.tool.description, bound.tool.parameters)
        return cls(tool, bound.source.label, bound.tool.name)


Groups = Sequence[tuple[str, Sequence[Listed]]]
"""Agents with their tools; one without a name where there is no agent."""


def read_json(path: str) -> list[Listed]:
    """The tools of a file in the shape of a tools/list result: `{"tools": [{name, description, inputSchema}]}`."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
        value = msgspec.json.decode(data)
        tools = value["tools"] if isinstance(value, dict) else value
        return [
            Listed(Tool(str(each["name"]), each.get("description") or "", each.get("inputSchema"))) for each in tools
        ]
    except OSError as error:
        raise UsageError(f'cannot read "{path}": {(error.strerror or "unknown").lower()}') from error
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f'"{path}" holds no tools', hint="""expected is {"tools": [{"name": ..., "inputSchema": ...}]}"""
        ) from error


def show(groups: Groups, options: Namespace, masker: Masker) -> None:
    """Print the tools as the options say."""
    if options.report:
        form = options.format if options.format not in ("table", "json") else "openai"
        _show_report(groups, form, options.format == "json", masker)
    elif options.format == "table":
        _show_table(groups, masker)
    elif options.format == "json":
        print_json(mask_json([_as_data(name, tools) for name, tools in groups], masker))
    else:
        tools = [each.tool for _, listed in groups for each in listed]
        print_json(mask_json(_payload(tools, convert(tools, options.format)), masker))


def _show_table(groups: Groups, masker: Masker) -> None:
    for name, tools in groups:
        print(masker(f"{name or 'tools'}: {len(tools)} tool{'' if len(tools) == 1 else 's'}"))
        width = max((len(each.tool.name) for each in tools), default=0)
        for each in tools:
            print(masker(f"  {each.tool.name:<{width}}  {_first_line(each.tool.description)}").rstrip())


def _as_data(name: str, tools: Sequence[Listed]) -> dict[str, Any]:
    return {
        "agent": name,
        "tools": [
            {
                "name": each.tool.name,
                "description": each.tool.description,
                "parameters": each.tool.parameters,
                "provider": each.provider,
                "tool": each.own_name or each.tool.name,
            }
            for each in tools
        ],
    }


def _payload(tools: Sequence[Tool], converted: Converted) -> Any:
    """The provider's list; with the table of what was renamed where anything was, and a reason in the place of a tool
    that cannot be expressed."""
    payload: Any = converted.payload
    if converted.set_aside:
        definitions = {id(each.tool): each.definition for each in converted.tools}
        reasons = {id(each.tool): each.reason for each in converted.set_aside}
        payload = [definitions.get(id(tool)) or {"error": reasons[id(tool)]} for tool in tools]
        if converted.format.startswith("gemini"):
            payload = [{"functionDeclarations": payload}]
    mapping = [
        {
            "name": each.name,
            "tool": each.tool.name,
            "renames": [{"path": one.path, "from": one.original, "to": one.offered} for one in each.renames],
        }
        for each in converted.tools
        if each.name != each.tool.name or each.renames
    ]
    return {"tools": payload, "mapping": mapping} if mapping else payload


def _show_report(groups: Groups, form: str, as_json: bool, masker: Masker) -> None:
    rows = []
    for name, tools in groups:
        converted = convert([each.tool for each in tools], form)
        for each in converted.tools:
            renames = [{"path": one.path, "from": one.original, "to": one.offered} for one in each.renames]
            entries = [{"pointer": one.pointer, "effect": one.effect, "message": one.message} for one in each.entries]
            row = {"agent": name, "tool": each.tool.name, "name": each.name, "entries": entries, "renames": renames}
            rows.append(row)
        rows += [{"agent": name, "tool": each.tool.name, "setAside": each.reason} for each in converted.set_aside]
    if as_json:
        print_json(mask_json({"format": form, "tools": rows}, masker))
        return
    print(f"format {form}: {len(rows)} tools")
    for row in rows:
        print(masker(_report_text(row)))


def _report_text(row: dict[str, Any]) -> str:
    if "setAside" in row:
        return f"  {row['tool']}: set aside: {row['setAside']}"
    lines = [f"  {row['tool']}" + (f" as {row['name']}" if row["name"] != row["tool"] else "")]
    lines += [f"    {one['pointer'] or '/'}: {one['effect']}: {one['message']}" for one in row["entries"]]
    lines += [f"    {one['path'] or '/'}: the key {one['from']} is offered as {one['to']}" for one in row["renames"]]
    return "\n".join(lines if len(lines) > 1 else [f"{lines[0]}: unchanged"])


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 100 else line[:99] + "…"
