"""What a conversion did to a tool, as data."""

from typing import Literal

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


class Report:
    """Collects what the steps of one tool's conversion did, in order; call it with pointer, effect and message."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.weakened = 0

    def __call__(self, pointer: str, effect: Effect, message: str) -> None:
        self.entries.append(Entry(pointer, effect, message))
        self.weakened += effect == "weakened"
