"""The manifest that an import makes, while it is made: resources, their names, and notes of what did not map."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from runtime.diagnostics.wording import one_line
from runtime.importing.values import Values
from runtime.manifest import Source

_LONGEST_PREFIX = 24
"""Of a tool's name, which may have 64 characters, most are left to the tool."""


class Note(NamedTuple):
    """What the user has to know of a line of the file: what did not map, what was left out.

    One that is `about` a resource stands above it, any other at the head of the manifest.
    """

    line: int
    text: str
    about: "Declared | None" = None

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


class Declared:
    """A resource of the manifest. `comments` stand above it; one that `is_off` is written as a comment itself."""

    def __init__(self, kind: str, name: str, fields: dict[str, Any]) -> None:
        self.kind = kind
        self.name = name
        self.fields = fields
        self.comments: list[str] = []
        self.is_off = False


class Draft:
    """What has been taken over from one file so far; `targets` are what the file is there to run."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.documents: list[Declared] = []
        self.notes: list[Note] = []
        self.values = Values()
        self.targets: list[Declared] = []
        self._names: set[str] = set()

    def declare(self, kind: str, name: str, /, **fields: Any) -> Declared:
        """Add a resource under the name, or one like it that is free."""
        document = Declared(kind, self._free(pascal(name)), fields)
        self.documents.append(document)
        return document

    def note(self, place: int, text: str, document: Declared | None = None) -> None:
        """Tell of something at a place of the file."""
        line, _ = self.source.position(place)
        self.notes.append(Note(line, one_line(text), document))

    def left_out(self, place: int, what: str, why: str, document: Declared | None = None) -> None:
        """Note something that has no place in a manifest."""
        self.note(place, f"{what} was left out: {why}", document)

    def sorted_notes(self) -> list[Note]:
        """All notes in the order of the lines that they are about."""
        return sorted(self.notes, key=lambda note: note.line)

    def _free(self, name: str) -> str:
        taken, number = name, 1
        while taken in self._names:
            number += 1
            taken = f"{name}{number}"
        self._names.add(taken)
        return taken


def pascal(text: str) -> str:
    """`ServerEverything` for `server-everything`: what a resource may be named."""
    name = "".join(word[:1].upper() + word[1:] for word in _words(text))
    if not name:
        return "Server"
    return f"_{name}" if name[0].isdigit() else name


def prefix_for(text: str) -> str:
    """`github_` for `GitHub`: what is put before the names of a server's tools."""
    prefix = "_".join(word.lower() for word in _words(text))[:_LONGEST_PREFIX].strip("_")
    return f"{prefix}_" if prefix else ""


def _words(text: str) -> Iterable[str]:
    return re.findall(r"[A-Za-z0-9]+", text)
