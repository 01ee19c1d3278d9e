"""A place in a schema: a chain of steps, so that a pointer is only written where someone reads it."""

from typing import Any

Place = tuple[Any, str] | None
"""The place around and the last step; None is the whole schema."""


def steps_of(place: Place) -> list[str]:
    """The steps from the whole schema to the place."""
    steps: list[str] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return steps[::-1]


def write_pointer(steps: list[str]) -> str:
    """Steps as a JSON pointer (RFC 6901)."""
    return "".join(f"/{escape(step)}" for step in steps)


def escape(key: str) -> str:
    """A key as a step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")
