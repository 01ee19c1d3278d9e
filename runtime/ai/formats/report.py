"""What a conversion did to a tool, as data."""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from runtime.ai.contracts import Tool

Effect = Literal["rewritten", "weakened", "dropped"]


class Entry(Struct, frozen=True):
    """One change: where, how it touches what the model may send, and what was done.

    `pointer` is a JSON pointer into the tool's own schema. `rewritten` says the same in other words; `weakened` lets
    the model send what the server will refuse; `dropped` takes away a note that no call depends on.
    """

    pointer: str
    effect: Effect
    message: str


class Rename(Struct, frozen=True):
    """An argument that the model sees under another key.

    `path` is the JSON pointer of the object that holds the key, in the server's spelling; `*` stands for any array
    position or map key, and an empty pointer for the arguments themselves.
    """

    path: str
    original: str
    offered: str


class SetAside(Struct, frozen=True):
    """A tool that is not offered, and why."""

    tool: Tool
    reason: str


Note = Callable[[str, Effect, str], Any]
"""How a step says what it did: pointer, effect, message."""
