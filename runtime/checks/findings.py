"""Where the checks put what they find, and what later checks leave alone because it was reported already."""

from typing import Any

from runtime.diagnostics import CODES, Diagnostic
from runtime.manifest import Broken, Mapping, Sequence
from runtime.resource_set import Resource


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


def nearest(name: str, known: Any) -> str | None:
    """`did you mean 'x'?` for the known name that is nearest, or None."""
    from difflib import get_close_matches

    folded = {str(candidate).casefold().replace("_", ""): str(candidate) for candidate in known}
    same = folded.get(name.casefold().replace("_", ""))
    near = [same] if same else get_close_matches(name, list(map(str, known)), 1, 0.6)
    return f"did you mean '{near[0]}'?" if near else None
