"""What a conversion did to a tool, as data."""

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from runtime.ai.contracts import Tool
from runtime.ai.formats.place import Place, steps_of, write_pointer

Effect = Literal["rewritten", "weakened", "dropped"]


class Entry(Struct, frozen=True):
    """One change: where, how it touches what the model may send, and what was done.

    `pointer` is a JSON pointer into the tool's own schema; for what came out of a combinator at its root, the place
    where it is offered. `rewritten` says the same in other words; `weakened` lets the model send what the server will
    refuse; `dropped` takes away a note that no call depends on.
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


Tell = Callable[["Report"], object]
"""Tells a report what was done."""


class Report:
    """Collects what the steps of one tool's conversion did, in order; call it with place, effect and message."""

    def __init__(self) -> None:
        self._notes: list[tuple[Place, Effect, str]] = []
        self._parts: list[tuple[int, Place, Report | Tell]] = []
        self.weakened = 0
        self.origins: dict[str, Place] = {}
        """Where a definition, by its name in the sound schema, stood in the published one."""

    def __call__(self, place: Place, effect: Effect, message: str) -> None:
        self._notes.append((place, effect, message))
        self.weakened += effect == "weakened"

    def defer(self, tell: "Tell") -> None:
        """Have something that is `weakened` reported once somebody reads it; most reports are never read."""
        self._parts.append((len(self._notes), None, tell))
        self.weakened += 1

    def include(self, place: Place, part: "Report") -> None:
        """Take over what was reported of a part of the schema, whose places start at `place`."""
        if part._notes or part._parts:
            self._parts.append((len(self._notes), place, part))
            self.weakened += part.weakened

    def entries(self) -> list[Entry]:
        """All of it, each once."""
        return list(dict.fromkeys(Entry(write_pointer(steps), effect, text) for steps, effect, text in self._flat()))

    def _flat(self) -> Iterator[tuple[list[str], Effect, str]]:
        parts = iter([*self._parts, (len(self._notes), None, None)])
        start = 0
        for end, place, part in parts:
            for at, effect, message in self._notes[start:end]:
                yield self._original(steps_of(at)), effect, message
            if part is not None and not isinstance(part, Report):
                deferred, part = part, Report()
                deferred(part)
            if part is not None:
                for inner, effect, message in part._flat():
                    steps = [*steps_of(place), *inner]
                    yield steps if part.origins else self._original(steps), effect, message
            start = end

    def _original(self, steps: list[str]) -> list[str]:
        if len(steps) > 1 and steps[0] == "$defs" and steps[1] in self.origins:
            return [*steps_of(self.origins[steps[1]]), *steps[2:]]
        return steps
