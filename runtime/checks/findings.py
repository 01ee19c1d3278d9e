"""Where the checks put what they find, and what later checks leave alone because it was reported already."""

from collections.abc import Iterable
from typing import Any

from runtime.diagnostics import CODES, Diagnostic
from runtime.manifest import Broken, Mapping, Sequence
from runtime.resource_set import Resource

_MOST_COMPARED = 1000


class Findings:
    """Diagnostics of a set, and the values below a fault, of which nothing more is said."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        self._silenced: set[int] = set()

    def report(self, resource: Resource, place: int, code: str, message: str, hint: str | None = None) -> None:
        """A fault of a resource at a place of its source."""
        source = resource.source
        line, column = source.position(place)
        self.diagnostics.append(Diagnostic(source.name, line, column, code, message, hint, resource.root.name))

    def silence(self, value: Any) -> None:
        """Say nothing more of a value and of all that is in it."""
        todo = [value]
        while todo:
            value = todo.pop()
            self._silenced.add(id(value))
            if type(value) is Mapping:
                todo.extend(value.values())
            elif type(value) is Sequence:
                todo.extend(value)

    def is_silenced(self, value: Any) -> bool:
        return type(value) is Broken or id(value) in self._silenced

    @property
    def has_errors(self) -> bool:
        return any(CODES[found.code].severity == "error" for found in self.diagnostics)

    def sorted(self) -> list[Diagnostic]:
        """By file, line and column; the same finding once, though an alias may have brought it twice."""
        return sorted(set(self.diagnostics), key=lambda found: (found.file, found.line, found.column, found.code))


def nearest(name: str, known: Iterable[Any]) -> str | None:
    """`did you mean 'x'?` for the known name that is nearest, or None.

    Upper and lower case and underscores count for nothing. Among more than a thousand names that is all that is tried:
    comparing letter by letter would take longer than everything else.
    """
    names = [str(candidate) for candidate in known]
    folded = name.casefold().replace("_", "")
    same = next((candidate for candidate in names if candidate.casefold().replace("_", "") == folded), None)
    if same is None and len(names) <= _MOST_COMPARED:
        from difflib import get_close_matches

        same = next(iter(get_close_matches(name, names, 1, 0.6)), None)
    return f'did you mean "{same}"?' if same is not None else None
