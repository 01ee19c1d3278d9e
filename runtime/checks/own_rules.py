"""Rules that a kind brings itself (`Kind.inspect`): what no schema says, known without starting anything."""

from collections import abc
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runtime.checks.findings import Findings
from runtime.manifest import Broken, Expression, Include, Mapping, Ref, Sequence
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet

if TYPE_CHECKING:
    from pathlib import Path  # costs a third of a bare interpreter's start, and hardly a manifest asks for it

    from runtime.imported_code import ImportedCode
    from runtime.known_tools import KnownTool


def check_own_rules(resources: ResourceSet, findings: Findings, *, with_environment: bool) -> None:
    """What the kinds report of their resources, at the places they name."""
    for resource, entry in resources.known():
        if entry.has_rules:
            entry.cls.inspect(Inspected(resource, resources, findings, with_environment=with_environment))


class Inspected:
    """A resource as a kind's own rules see it (`runtime.kind.Inspection`).

    `locked` has the tools of the resources that a lock knows. `way` are the resources that it was reached by.
    """

    def __init__(
        self,
        resource: Resource,
        resources: ResourceSet,
        findings: Findings,
        *,
        with_environment: bool = False,
        locked: "abc.Mapping[Resource, abc.Sequence[KnownTool]] | None" = None,
        way: tuple[Resource, ...] = (),
    ) -> None:
        self.with_environment = with_environment
        self.resource = resource
        self._resources = resources
        self._findings = findings
        self._locked = locked or {}
        self._way = (*way, resource)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inspected) and other.resource is self.resource

    def __hash__(self) -> int:
        return hash(self.resource)

    @property
    def kind(self) -> Any:
        return self.resource.entry.cls if isinstance(self.resource.entry, Entry) else None

    @property
    def title(self) -> str:
        return self.resource.title

    @property
    def tools(self) -> "abc.Sequence[KnownTool] | None":
        if self.resource in self._locked:
            return self._locked[self.resource]
        found: abc.Sequence[KnownTool] | None = self.kind.known_tools(self)
        return found

    def at(self, *path: str | int) -> "Inspected | None":
        value: Any = self.resource.body
        for step in path:
            if isinstance(value, Mapping) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, Sequence) and isinstance(step, int):
                value = value[step]
            else:
                return None
        target = self._resources.by_name.get(value.name) if isinstance(value, Ref) else self._resources.inline(value)
        if target is None or not isinstance(target.entry, Entry) or target in self._way:
            return None  # in a circle of references nobody comes to an end
        return Inspected(
            target,
            self._resources,
            self._findings,
            with_environment=self.with_environment,
            locked=self._locked,
            way=self._way,
        )

    @property
    def code(self) -> "ImportedCode":
        return self._resources.registry.code

    @property
    def folder(self) -> "Path":
        from pathlib import Path

        return Path(self.resource.source.folder)

    def find(self, *path: str, expressions: bool = False) -> Iterator[tuple[tuple[str | int, ...], Any]]:
        todo: list[tuple[tuple[str | int, ...], Any]] = [((), self.resource.body)]
        for step in path:
            todo = [
                ((*above, key), value[key])
                for above, value in todo
                for key in _keys(value, step)
                if type(value[key]) is not Broken and not self._findings.is_cut(value, key)
            ]
        left_out = (Include,) if expressions else (Include, Expression)
        for found in todo:
            if self._findings.is_full(self.resource):
                return
            if not isinstance(found[1], left_out):
                yield found

    def has(self, field: str) -> bool:
        return field in self.resource.body

    def names(self, *path: str) -> Iterator[tuple[tuple[str | int, ...], str]]:
        yield from ((found, value.name) for found, value in self.find(*path) if isinstance(value, Ref))

    def named(self, contract: str) -> "abc.Sequence[str]":
        from runtime.lock.definition import RECORDING, client_key

        known = (each for each in self._resources.known() if not each[1].fits(RECORDING))
        return [client_key(resource) for resource, entry in known if entry.fits(contract) and resource.root.name]

    def report(self, code: str, path: tuple[str | int, ...], message: str, hint: str | None = None) -> None:
        container: Any = self.resource.body
        for step in path[:-1]:
            container = container[step]
        place = container.places[path[-1]]
        place = place[1] if isinstance(place, tuple) else place
        # what is at fault already, such as an expression that may not stand there, is no fault of the kind's
        if isinstance(container[path[-1]], Broken) or self._findings.is_faulty(self.resource, place):
            return
        self._findings.report(self.resource, place, code, message, hint)


def _keys(value: Any, step: str) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value) if step == "*" else [step] if step in value else []
    return list(range(len(value))) if isinstance(value, Sequence) and step == "*" else []
