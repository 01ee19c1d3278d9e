"""What a tool format cannot express of a tool's schema: the model may then send what the server will refuse."""

from collections.abc import Iterator
from typing import Any

from runtime.ai.contracts import Tool
from runtime.ai.formats import FORMATS, Memory, convert


def find_losses(parameters: dict[str, Any], tool_format: str, memory: Memory | None = None) -> list[str]:
    """Each loss in words, with its place in the schema of the tool's arguments; none for a format that is not ours."""
    if tool_format not in FORMATS:
        return []
    converted = convert([Tool("tool", "", parameters)], tool_format, memory=memory)
    if converted.set_aside:
        return [f"/: {converted.set_aside[0].reason}"]
    tool = converted.tools[0]
    return [f"{entry.pointer or '/'}: {entry.message}" for entry in tool.entries if entry.effect == "weakened"]


def find_lossy_formats(parameters: dict[str, Any]) -> Iterator[str]:
    """The formats that cannot express the schema in full."""
    memory = Memory()
    return (name for name in FORMATS if find_losses(parameters, name, memory))
