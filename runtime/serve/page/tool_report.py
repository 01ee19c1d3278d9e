"""The tools of an agent, and what the formats of model providers make of them."""

from collections.abc import Callable, Sequence
from typing import Any

from runtime.ai.contracts import Tool
from runtime.ai.formats import FORMATS, convert
from runtime.masking import Masker, mask_json


def report_tools(
    bound: Sequence[Any], form: str, masker: Masker, name_of: Callable[[Any], str]
) -> list[dict[str, Any]]:
    """One entry a tool (`runtime.ai.tool_set.BoundTool`), in their order, as `runtime tools --report` tells it.

    `sent` is the tool in the format, `entries` what was rewritten, weakened or dropped for it, `renames` the keys that
    are offered under other names, `setAside` why the tool cannot be offered at all. `name_of` names a live provider.
    """
    tools = [Tool(each.name, each.tool.description, each.tool.parameters) for each in bound]
    converted = convert(tools, form, max_tools=len(tools) or 1) if form in FORMATS else None
    made = {id(each.tool): each for each in converted.tools} if converted is not None else {}
    set_aside = {id(each.tool): each.reason for each in converted.set_aside} if converted is not None else {}
    report: list[dict[str, Any]] = []
    for each, tool in zip(bound, tools, strict=True):
        row: dict[str, Any] = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "provider": name_of(each.source.provider) or each.source.label,
            "tool": each.tool.name,
            "needsApproval": each.needs_approval,
        }
        if id(tool) in set_aside:
            row["setAside"] = set_aside[id(tool)]
        elif id(tool) in made:
            one = made[id(tool)]
            row["sent"] = one.definition
            row["entries"] = [
                {"pointer": entry.pointer, "effect": entry.effect, "message": entry.message} for entry in one.entries
            ]
            row["renames"] = [
                {"path": rename.path, "from": rename.original, "to": rename.offered} for rename in one.renames
            ]
        report.append(mask_json(row, masker))
    return report
