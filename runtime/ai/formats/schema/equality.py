"""Equality of JSON values as JSON Schema has it: `true` is not 1, but 1 is 1.0."""

from collections.abc import Hashable
from typing import Any


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def identity(value: Any) -> Hashable:
    """Equal for JSON values that are equal, and for no others; for sets and for looking up."""
    if isinstance(value, dict):
        return "object", frozenset((key, identity(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return "array", tuple(map(identity, value))
    return (isinstance(value, bool), value) if isinstance(value, (bool, int, float)) else ("", value)


def distinct(values: list[Any]) -> list[Any]:
    """The values, each once."""
    return list({identity(value): value for value in reversed(values)}.values())[::-1]
