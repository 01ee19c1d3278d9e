"""Rules that a kind brings itself (`Kind.inspect`): what no schema says, known without starting anything."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runtime.checks.findings import Findings
from runtime.manifest import Broken, Expression, Include, Mapping, Ref, Sequence
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet

if TYPE_CHECKING:
    from pathlib import Path  # costs a third of a bare interpreter's start, and hardly a manifest asks for it


def check_own_rules(resources: ResourceSet, findings: Findings, *, with_environment: bool) -> None:
    """What the kinds report of their resources, at the places they name."""
    for resource, entry in resources.known():
        if entry.has_rules:
            entry.cls.inspect(_Inspection(resource, resources, findings, with_environment))


class _Inspection:
    """A resource as a kind's own rules see it (`runtime.kind.Inspection`)."""

    def __init__(self, resource: Resource, resources: ResourceSet, findings: Findings, with_environment: bool) -> None:
        self.with_environment = with_environment
        self._resource = resource
        self._resources = resources
        self._findings = findings

    @property
    def folder(self) -> "Path":
        from pathlib import Path

        return Path(self._resource.source.folder)

    def find(self, *path: str, expressions: bool = False) -> Iterator[tuple[tuple[str | int, ...], Any]]:
        todo: list[tuple[tuple[str | int, ...], Any]] = [((), self._resource.body)]
        for step in path:
            todo = [
                ((*above, key), value[key])
                for above, value in todo
                for key in _keys(value, step)
                if type(value[key]) is not Broken and not self._findings.is_cut(value, key)
            ]
        left_out = (Include,) if expressions else (Include, Expression)
        yield from (found for found in todo if not isinstance(found[1], left_out))

    def has(self, field: str) -> bool:
        return field in self._resource.body

    def names(self, *path: str) -> Iterator[tuple[tuple[str | int, ...], str]]:
        yield from ((found, value.name) for found, value in self.find(*path) if isinstance(value, Ref))

    def kind_at(self, *path: str | int) -> Any:
        value: Any = self._resource.body
        for step in path:
            if isinstance(value, Mapping) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, Sequence) and isinstance(step, int):
                value = value[step]
            else:
                return None
        if isinstance(value, Ref):
            target = self._resources.by_name.get(value.name)
            return target.entry.cls if target is not None and isinstance(target.entry, Entry) else None
        for slot in self._resource.slots:
            if slot.value is value and slot.inline is not None:
                return slot.inline.entry.cls if isinstance(slot.inline.entry, Entry) else None
        return None

    def report(self, code: str, path: tuple[str | int, ...], message: str, hint: str | None = None) -> None:
        container: Any = self._resource.body
        for step in path[:-1]:
            container = container[step]
        place = container.places[path[-1]]
        place = place[1] if isinstance(place, tuple) else place
        # what is at fault already, such as an expression that may not stand there, is no fault of the kind's
        if isinstance(container[path[-1]], Broken) or self._findings.is_faulty(self._resource, place):
            return
        self._findings.report(self._resource, place, code, message, hint)


def _keys(value: Any, step: str) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value) if step == "*" else [step] if step in value else []
    return list(range(len(value))) if isinstance(value, Sequence) and step == "*" else []
