"""Rules that a kind brings itself (`Kind.inspect`): what no schema says, known without starting anything."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runtime.checks.findings import Findings
from runtime.manifest import Expression, Include, Mapping, Ref, Sequence
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

    def find(self, *path: str) -> Iterator[tuple[tuple[str | int, ...], Any]]:
        todo: list[tuple[tuple[str | int, ...], Any]] = [((), self._resource.body)]
        for step in path:
            todo = [
                ((*above, key), value[key])
                for above, value in todo
                for key in _keys(value, step)
                if not self._findings.is_silenced(value[key])
            ]
        yield from (found for found in todo if not isinstance(found[1], (Expression, Include)))

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
        value: Any = self._resource.body
        for step in path[:-1]:
            value = value[step]
        place = value.places[path[-1]]
        self._findings.report(self._resource, place[1] if isinstance(place, tuple) else place, code, message, hint)


def _keys(value: Any, step: str) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value) if step == "*" else [step] if step in value else []
    return list(range(len(value))) if isinstance(value, Sequence) and step == "*" else []
