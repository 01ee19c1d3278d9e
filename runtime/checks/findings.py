"""Where the checks put what they find, and what later checks leave alone because it was reported already."""

from collections.abc import Iterable, Iterator
from typing import Any

from runtime.diagnostics import CODES, Diagnostic
from runtime.manifest import Mapping, Sequence
from runtime.registry import Entry
from runtime.resource_set import Resource, SlotValue

MOST_OF_ONE = 1000
"""Errors of one named resource with all that is in it, and warnings as well: whoever mends that many looks again."""
MOST_OF_ALL = 10_000
"""Errors of a set, and warnings as well."""


class Findings:
    """Diagnostics of a set, and the values below a fault, of which nothing more is said.

    A value is cut off by the mapping or list that it stands in and its key there: the same value, aliased into another
    place, is looked at in that place all the same.
    """

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        self._seen: set[tuple[str, int, str, str]] = set()
        self._faulty: set[tuple[str, int]] = set()
        self._cuts: set[tuple[int, Any]] = set()
        self._cut_roots: set[int] = set()
        self._reached: dict[int, set[int]] = {}
        self._count: dict[tuple[str, int], int] = {}  # by severity and resource; of the whole set under 0

    def report(
        self,
        resource: Resource,
        place: int,
        code: str,
        message: str,
        hint: str | None = None,
        *,
        about: str | None = None,
    ) -> None:
        """A fault of a resource at a place of its source.

        What an alias brings to several places is one finding: the same code at the same place `about` the same thing,
        by default with the same message. Of very many faults the last finding says that the rest is not shown.
        """
        if self.is_full(resource, CODES[code].severity):
            return
        source = resource.source
        key = (source.name, place, code, message if about is None else about)
        if key in self._seen:
            return
        from runtime.diagnostics.wording import one_line

        self._seen.add(key)
        self._faulty.add((source.name, place))
        line, column = source.position(place)
        root = resource.root
        whole = self._counted(code, root)
        if whole is not None:
            message, hint = f"{whole}; what else is wrong is not shown", None
        hint = one_line(hint) if hint is not None else None
        self.diagnostics.append(Diagnostic(source.name, line, column, code, one_line(message), hint, root.name))

    def _counted(self, code: str, root: Resource) -> str | None:
        """Count a finding; what is too much where it is the last one that is shown."""
        severity = CODES[code].severity
        for key, most, whole in ((id(root), MOST_OF_ONE, "this resource"), (0, MOST_OF_ALL, "the set")):
            self._count[severity, key] = count = self._count.get((severity, key), 0) + 1
            if count == most:
                return f"{whole} has {most} {severity}s or more"
        return None

    def is_full(self, resource: Resource, severity: str = "error") -> bool:
        """Whether so much was found in the resource, or in the set, that nothing more is told of it."""
        if self._count.get((severity, 0), 0) >= MOST_OF_ALL:
            return True
        return self._count.get((severity, id(resource.root)), 0) >= MOST_OF_ONE

    def is_faulty(self, resource: Resource, place: int) -> bool:
        """Whether a check has reported something at that very place."""
        return (resource.source.name, place) in self._faulty

    def cut(self, resource: Resource, container: Any, key: Any) -> None:
        """Say nothing more of a value of the resource, and of what is in it."""
        self._cuts.add((id(container), key))
        self._cut_roots.add(id(resource.root))
        self._reached.clear()

    def is_cut(self, container: Any, key: Any) -> bool:
        return (id(container), key) in self._cuts

    def is_reached(self, resource: Resource, value: Any) -> bool:
        """Whether a mapping, list, reference, include or expression of the resource is not below what was cut off."""
        root = resource.root
        if id(root) not in self._cut_roots:
            return True
        if id(root) not in self._reached:
            self._reached[id(root)] = {id(part) for part in self.parts(root)}
        return id(value) in self._reached[id(root)]

    def is_open(self, resource: Resource, slot: SlotValue) -> bool:
        """Whether a slot of the resource is not cut off."""
        if id(resource.root) not in self._cut_roots:
            return True
        return not self.is_cut(slot.container, slot.key) and self.is_reached(resource, slot.container)

    def parts(self, root: Resource) -> Iterator[Any]:
        """Every value of a named resource that is not cut off, itself first."""
        yield root.body
        yield from (value for _, _, value in self.entries(root))

    def entries(self, root: Resource) -> Iterator[tuple[Any, Any, Any]]:
        """Every value in a named resource that is not cut off, with the mapping or list that it stands in and its key.

        Of parts whose kind is not known that is only their metadata.
        """
        unknown = {id(part.body) for part in _resources_in(root) if not isinstance(part.entry, Entry)}
        todo: list[Any] = [root.body]
        cuts = self._cuts
        while todo:
            container = todo.pop()
            keys: Iterable[Any] = container if type(container) is Mapping else range(len(container))
            if id(container) in unknown:
                keys = [key for key in ("kind", "metadata") if key in container]
            for key in keys:
                if not cuts or (id(container), key) not in cuts:
                    value = container[key]
                    yield container, key, value
                    if type(value) is Mapping or type(value) is Sequence:
                        todo.append(value)

    @property
    def has_errors(self) -> bool:
        return any(CODES[found.code].severity == "error" for found in self.diagnostics)

    def sorted(self) -> list[Diagnostic]:
        """By file, line and column, then in the order of the checks."""
        return sorted(self.diagnostics, key=lambda found: (found.file, found.line, found.column))


def _resources_in(root: Resource) -> list[Resource]:
    found, todo = [], [root]
    while todo:
        part = todo.pop()
        found.append(part)
        todo.extend(slot.inline for slot in part.slots if slot.inline is not None)
    return found
