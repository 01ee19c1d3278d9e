"""Bytes of 1000 tools to the formats of three providers, as a multiple of `json.loads` of the bytes in the same run.

python benchmarks/formats.py
"""

import json
import time
from collections.abc import Callable
from typing import Any

import msgspec

from runtime.ai.contracts import Tool
from runtime.ai.formats import convert
from runtime.ai.formats.format import Memory

ROUNDS = 9
FORMATS = ("openai", "anthropic", "gemini")


def make_tools(count: int, *, differ: bool = False) -> bytes:
    """A tools/list result of `count` tools with schemas of about 2 kB; those that `differ` have no text in common."""
    tools = [
        {
            "name": f"tool_{number}",
            "description": "Does its work.",
            "inputSchema": make_schema(f"of the tool {number}" if differ else "of the call"),
        }
        for number in range(count)
    ]
    return json.dumps({"tools": tools}).encode()


def make_schema(whose: str) -> dict[str, Any]:
    """Eighteen arguments, with a keyword that one of the providers does not read."""
    fields = {
        f"field_{number}": {
            "type": "string",
            "description": f"What the field number {number} {whose} is for.",
            "maxLength": 80,
        }
        for number in range(18)
    }
    return {"type": "object", "properties": fields, "required": ["field_0"], "additionalProperties": False}


def convert_all(data: bytes) -> None:
    """From bytes to what each provider is sent."""
    raw = msgspec.json.decode(data)["tools"]
    tools = [Tool(each["name"], each["description"], each["inputSchema"]) for each in raw]
    memory = Memory()
    for form in FORMATS:
        _ = convert(tools, form, max_tools=len(tools), memory=memory).payload


def measure(work: Callable[[bytes], object], data: bytes) -> float:
    """CPU seconds, the least of some rounds."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work(data)
        seconds.append(time.process_time() - started)
    return min(seconds)


def main() -> None:
    for text, data in (("alike", make_tools(1000)), ("all different", make_tools(1000, differ=True))):
        floor = measure(json.loads, data)
        print(f"{text}: json.loads of {len(data) / 1e6:.1f} MB: {floor * 1000:.1f} ms")
        print(f"to {', '.join(FORMATS)}: {measure(convert_all, data) / floor:.2f} x (target 3)")


if __name__ == "__main__":
    main()
