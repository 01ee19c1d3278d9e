"""References: each stands in a slot, names a resource that is there and fits, and none of them closes a circle."""

from itertools import islice
from typing import Any

from runtime.checks.findings import Findings, nearest
from runtime.graph import circle, edges, tangles
from runtime.manifest import Expression, Mapping, Ref, Sequence
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet, SlotValue

_MOST_SHOWN = 20


def check_references(resources: ResourceSet, findings: Findings, lost_names: set[str]) -> None:
    """REF_EXPECTED, REF_UNRESOLVED, REF_KIND_MISMATCH, REF_MISPLACED, REF_CYCLE; SCHEMA_TYPE for a list in a slot."""
    in_slots: set[int] = set()
    for resource in resources.resources:
        for slot in resource.slots:
            if isinstance(slot.value, Ref):
                in_slots.add(id(slot.value))
            if not findings.is_silenced(slot.value):
                _check_slot(resource, slot, resources, findings, lost_names)
    for resource, _ in resources.known():
        if resource.owner is None and len(resource.document.refs):
            _check_places(resource, in_slots, findings)
    _check_cycles(resources, findings)


def _check_slot(
    resource: Resource, slot: SlotValue, resources: ResourceSet, findings: Findings, lost_names: set[str]
) -> None:
    value = slot.value
    if type(value) is Ref:
        _check_reference(resource, slot, value, resources, findings, lost_names)
    elif slot.inline is not None:
        entry = slot.inline.entry
        if isinstance(entry, Entry) and not entry.fits(slot.wanted):
            place = slot.inline.body.places["kind"][1]
            findings.report(
                resource, place, "REF_KIND_MISMATCH", f'"{slot.key}" takes "{slot.wanted}", not "{slot.inline.kind}"'
            )
    elif type(value) is Sequence:
        findings.report(resource, slot.place, "SCHEMA_TYPE", f'"{_shown(slot)}" takes one reference, not a list')
    elif not isinstance(value, Expression):
        target = resources.by_name.get(value) if isinstance(value, str) else None
        name = value if target is not None and _fits(target, slot.wanted) else "Name"
        hint = f'write "!ref {name}", or a mapping with a kind'
        findings.report(
            resource, slot.place, "REF_EXPECTED", f'"{_shown(slot)}" takes a reference to "{slot.wanted}"', hint
        )


def _check_reference(
    resource: Resource, slot: SlotValue, ref: Ref, resources: ResourceSet, findings: Findings, lost_names: set[str]
) -> None:
    if not ref.name.strip():
        findings.report(resource, slot.place, "REF_EXPECTED", '"!ref" takes the name of a resource')
        return
    target = resources.by_name.get(ref.name)
    if target is None:
        if ref.name in lost_names:
            return
        hint = nearest(ref.name, resources.by_name)
        findings.report(resource, slot.place, "REF_UNRESOLVED", f'there is no resource "{ref.name}"', hint)
    elif isinstance(target.entry, Entry) and not target.entry.fits(slot.wanted):
        fitting = (name for name, other in resources.by_name.items() if _fits(other, slot.wanted))
        first = list(islice(fitting, 5))
        findings.report(
            resource,
            slot.place,
            "REF_KIND_MISMATCH",
            f'"{_shown(slot)}" takes "{slot.wanted}", and "{ref.name}" is of kind "{target.kind}"',
            f"of the right kind: {', '.join(first)}" if first else None,
        )


def _fits(resource: Resource, wanted: str) -> bool:
    return isinstance(resource.entry, Entry) and resource.entry.fits(wanted)


def _shown(slot: SlotValue) -> str:
    return slot.key if isinstance(slot.key, str) else f"[{slot.key}]"


def _check_places(resource: Resource, in_slots: set[int], findings: Findings) -> None:
    """References of the document that stand in no slot, and not below something that was reported."""
    unknown = [part for part in _parts(resource) if not isinstance(part.entry, Entry)]
    skipped = {id(part.body) for part in unknown}
    todo: list[Any] = [resource.body]
    while todo:
        value = todo.pop()
        if type(value) is Ref:
            if id(value) not in in_slots and not findings.is_silenced(value):
                message = f'"!ref {value.name}" stands in a field that takes no reference'
                findings.report(resource, value.place, "REF_MISPLACED", message)
        elif id(value) in skipped or findings.is_silenced(value):
            continue
        elif type(value) is Mapping:
            todo.extend(value.values())
        elif type(value) is Sequence:
            todo.extend(value)


def _parts(resource: Resource) -> list[Resource]:
    found, todo = [], [resource]
    while todo:
        part = todo.pop()
        found.append(part)
        todo.extend(slot.inline for slot in part.slots if slot.inline is not None)
    return found


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
