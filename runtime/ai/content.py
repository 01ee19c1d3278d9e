"""A tool's output: as parts of a message, and as one string."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.ai.contracts import Image, Part, Text

EMPTY = "(no output)"
"""What stands for an output with nothing in it: providers refuse an empty tool message."""


def parts_of(output: Any) -> list[Part]:
    """A tool's output as parts, never none: text and parts as they are, any other JSON value as its JSON text."""
    if isinstance(output, (Text, Image)):
        output = [output]
    if isinstance(output, str):
        parts: list[Part] = [Text(output)]
    elif _is_parts(output):
        parts = list(output)
    else:
        parts = [Text(encode(output))]
    return parts if any(not isinstance(part, Text) or part.text for part in parts) else [Text(EMPTY)]


def flatten(output: Any) -> str:
    """A tool's output as one string: text as it is, `[Image: image/png]`, `[Audio: audio/wav]`, joined with newlines.

    Takes parts, or MCP content blocks as they came; any other JSON value becomes its JSON text.
    """
    if isinstance(output, str):
        return output
    if isinstance(output, (Text, Image)):
        output = [output]
    if _is_parts(output) or _is_blocks(output):
        return "\n".join(map(_flatten_one, output))
    return encode(output)


def encode(value: Any) -> str:
    """A JSON value as JSON text."""
    return msgspec.json.encode(value).decode()


def _flatten_one(part: Any) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Image):
        return f"[Image: {part.media_type}]"
    kind = part["type"]
    if kind == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    if kind in ("image", "audio") and isinstance(part.get("mimeType"), str):
        return f"[{kind.title()}: {part['mimeType']}]"
    return encode(part)


def _is_parts(output: Any) -> bool:
    return isinstance(output, Sequence) and all(isinstance(part, (Text, Image)) for part in output)


def _is_blocks(output: Any) -> bool:
    return isinstance(output, Sequence) and all(
        isinstance(block, Mapping) and isinstance(block.get("type"), str) for block in output
    )
