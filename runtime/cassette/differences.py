"""What differs between two requests, as lines of YAML that people read."""

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

from runtime.yaml_text import write_mapping

MOST_LINES = 60


def compare_values(old: Any, new: Any) -> list[str]:
    """Lines that were (`-`) and are (`+`), with a few of those around them."""
    return compare_lines(as_lines(old), as_lines(new))


def compare_lines(old: Sequence[str], new: Sequence[str]) -> list[str]:
    lines = [
        line if not line.startswith("@@") else "..." for line in list(unified_diff(old, new, lineterm="", n=2))[2:]
    ]
    lines = lines[1:] if lines[:1] == ["..."] else lines
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[:MOST_LINES], f"... {len(lines) - MOST_LINES} lines more"]


def as_lines(value: Any) -> list[str]:
    """A JSON value as YAML, text as its own lines."""
    if isinstance(value, str):
        return value.split("\n")
    if isinstance(value, Mapping):
        return list(write_mapping(value, 0, is_sorted=False))
    return [line.removeprefix("value:").strip() or "-" for line in write_mapping({"value": value}, 0)]
