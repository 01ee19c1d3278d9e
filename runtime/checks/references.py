"""References: each stands in a slot, names a resource that is there and fits, and none of them closes a circle."""

from itertools import islice
from typing import Any

from runtime.checks.findings import Findings
from runtime.diagnostics.nearby import Nearby
from runtime.graph import circle, edges, tangles
from runtime.manifest import Broken, Expression, Include, Mapping, Ref, Sequence
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet, SlotValue

_MOST_SHOWN = 20


def check_references(resources: ResourceSet, findings: Findings, lost_names: set[str]) -> None:
    """REF_EXPECTED, REF_UNRESOLVED, REF_KIND_MISMATCH, REF_MISPLACED, REF_CYCLE; SCHEMA_TYPE for a list in a slot."""
    slots = _Slots(resources, findings, lost_names)
    in_slots: set[tuple[int, Any]] = set()
    for resource in resources.resources:
        for slot in resource.slots:
            if isinstance(slot.value, Ref):
                in_slots.add((id(slot.container), slot.key))
            if not findings.is_full(resource) and findings.is_open(resource, slot):
                slots.check(resource, slot)
    for resource in resources.resources:
        if resource.owner is None and resource.document.refs:
            _check_places(resource, in_slots, findings)
    _check_cycles(resources, findings)


class _Slots:
    """What stands in the slots of a set."""

    def __init__(self, resources: ResourceSet, findings: Findings, lost_names: set[str]) -> None:
        self._resources = resources
        self._findings = findings
        self._lost_names = lost_names
        self._nearby: Nearby | None = None

    def check(self, resource: Resource, slot: SlotValue) -> None:
        value = slot.value
        if type(value) is Ref:
            self._check_reference(resource, slot, value)
        elif slot.inline is not None:
            self._check_inline(resource, slot, slot.inline)
        elif type(value) is Sequence:
            message = f'"{_shown(resource, slot)}" has to be one reference, not a list'
            self._findings.report(resource, slot.place, "SCHEMA_TYPE", message, about=slot.wanted)
            self._findings.cut(resource, slot.container, slot.key)
        elif not isinstance(value, (Expression, Broken)):
            message = f'"{_shown(resource, slot)}" takes a reference to "{slot.wanted}"'
            hint = f'write "!ref {self._meant(value, slot)}", or a mapping with a kind'
            self._findings.report(resource, slot.place, "REF_EXPECTED", message, hint, about=slot.wanted)
            self._findings.cut(resource, slot.container, slot.key)

    def _meant(self, value: Any, slot: SlotValue) -> str:
        """The name of the resource that a plain text in a slot probably means."""
        if not isinstance(value, str) or isinstance(value, Include):
            return "Name"
        name = value.strip().removeprefix("!").removeprefix("ref ").strip()
        target = self._resources.by_name.get(name)
        return name if target is not None and _fits(target, slot.wanted) else "Name"

    def _check_inline(self, resource: Resource, slot: SlotValue, inline: Resource) -> None:
        if not isinstance(inline.entry, Entry) or inline.entry.fits(slot.wanted):
            return
        registry = self._resources.registry
        found = ((name, registry.find(name)) for name in registry.names())
        fitting = [name for name, entry in found if isinstance(entry, Entry) and entry.fits(slot.wanted)]
        self._findings.report(
            resource,
            inline.body.places["kind"][1],
            "REF_KIND_MISMATCH",
            f'"{_shown(resource, slot)}" takes "{slot.wanted}", not "{inline.kind}"',
            f"kinds that fit: {', '.join(fitting)}" if fitting else None,
            about=slot.wanted,
        )

    def _check_reference(self, resource: Resource, slot: SlotValue, ref: Ref) -> None:
        target = self._resources.by_name.get(ref.name)
        if target is None:
            self._check_name(resource, slot, ref.name)
        elif isinstance(target.entry, Entry) and not target.entry.fits(slot.wanted):
            fitting = (name for name, other in self._resources.by_name.items() if _fits(other, slot.wanted))
            first = list(islice(fitting, 5))
            self._findings.report(
                resource,
                slot.place,
                "REF_KIND_MISMATCH",
                f'"{_shown(resource, slot)}" takes "{slot.wanted}", and "{ref.name}" is of kind "{target.kind}"',
                f"of the right kind: {', '.join(first)}" if first else None,
                about=slot.wanted,
            )

    def _check_name(self, resource: Resource, slot: SlotValue, name: str) -> None:
        """A name that no resource has."""
        if not name.strip():
            self._findings.report(resource, slot.place, "REF_EXPECTED", '"!ref" takes the name of a resource')
        elif "${{" in name:
            message = '"!ref" takes the name of a resource, and is not evaluated'
            self._findings.report(resource, slot.place, "REF_EXPECTED", message)
        elif name not in self._lost_names:
            self._nearby = self._nearby or Nearby(self._resources.by_name)
            message, hint = f'there is no resource "{name}"', self._nearby.hint(name)
            self._findings.report(resource, slot.place, "REF_UNRESOLVED", message, hint)


def _fits(resource: Resource, wanted: str) -> bool:
    return isinstance(resource.entry, Entry) and resource.entry.fits(wanted)


def _shown(resource: Resource, slot: SlotValue) -> str:
    """`client`, or `targets[1]` for an element of a list."""
    if isinstance(slot.key, str):
        return slot.key
    todo: list[tuple[str, Any]] = [("", resource.body)]
    while todo:
        name, value = todo.pop()
        if value is slot.container:
            return f"{name}[{slot.key}]"
        if type(value) is Mapping:
            todo.extend(value.items())
        elif type(value) is Sequence:
            todo.extend((name, item) for item in value)
    return f"[{slot.key}]"


def _check_places(resource: Resource, in_slots: set[tuple[int, Any]], findings: Findings) -> None:
    """References of a document that stand in no slot, and not below something that was reported.

    A slot is a mapping or list and a key in it: an alias may bring the reference of a slot to where there is none.
    """
    for container, key, value in findings.entries(resource):
        if type(value) is Ref and (id(container), key) not in in_slots:
            shown = f"!ref {value.name}".rstrip()
            message = f'"{shown}" stands in a field that takes no reference'
            findings.report(resource, value.place, "REF_MISPLACED", message)
            if findings.is_full(resource):
                return


def _check_cycles(resources: ResourceSet, findings: Findings) -> None:
    links = list(edges(resources))
    for group in tangles(links):
        members = set(group)
        inside = [edge for edge in links if edge.source in members and edge.target in members]
        first = min(inside, key=lambda edge: (edge.source.source.name, edge.slot.place))
        names = circle(inside, first)
        if len(names) > _MOST_SHOWN:
            names = [*names[: _MOST_SHOWN - 1], f"... ({len(names) - _MOST_SHOWN} more)", names[-1]]
        way = " -> ".join(names)
        findings.report(
            first.source, first.slot.place, "REF_CYCLE", f"resources depend on each other in a circle: {way}"
        )
