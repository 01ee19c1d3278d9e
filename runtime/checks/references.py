"""References: each stands in a slot, names a resource that is there and fits, and none of them closes a circle."""

from itertools import islice
from typing import Any

from runtime.checks.findings import Findings, nearest
from runtime.graph import circle, edges, tangles
from runtime.manifest import Broken, Expression, Include, Mapping, Ref, Sequence
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
            if findings.is_open(resource, slot):
                _check_slot(resource, slot, resources, findings, lost_names)
    for resource in resources.resources:
        if resource.owner is None and resource.document.refs:
            _check_places(resource, in_slots, findings)
    _check_cycles(resources, findings)


def _check_slot(
    resource: Resource, slot: SlotValue, resources: ResourceSet, findings: Findings, lost_names: set[str]
) -> None:
    value = slot.value
    if type(value) is Ref:
        _check_reference(resource, slot, value, resources, findings, lost_names)
    elif slot.inline is not None:
        _check_inline(resource, slot, slot.inline, resources, findings)
    elif type(value) is Sequence:
        message = f'"{_shown(resource, slot)}" has to be one reference, not a list'
        findings.report(resource, slot.place, "SCHEMA_TYPE", message, about=slot.wanted)
        findings.cut(resource, slot.container, slot.key)
    elif not isinstance(value, (Expression, Broken)):
        message = f'"{_shown(resource, slot)}" takes a reference to "{slot.wanted}"'
        hint = f'write "!ref {_meant(value, slot, resources)}", or a mapping with a kind'
        findings.report(resource, slot.place, "REF_EXPECTED", message, hint, about=slot.wanted)
        findings.cut(resource, slot.container, slot.key)


def _meant(value: Any, slot: SlotValue, resources: ResourceSet) -> str:
    """The name of the resource that a plain text in a slot probably means."""
    if not isinstance(value, str) or isinstance(value, Include):
        return "Name"
    name = value.strip().removeprefix("!").removeprefix("ref ").strip()
    target = resources.by_name.get(name)
    return name if target is not None and _fits(target, slot.wanted) else "Name"


def _check_inline(
    resource: Resource, slot: SlotValue, inline: Resource, resources: ResourceSet, findings: Findings
) -> None:
    if not isinstance(inline.entry, Entry) or inline.entry.fits(slot.wanted):
        return
    fitting = [name for name in resources.registry.names() if _kind_fits(resources, name, slot.wanted)]
    findings.report(
        resource,
        inline.body.places["kind"][1],
        "REF_KIND_MISMATCH",
        f'"{_shown(resource, slot)}" takes "{slot.wanted}", not "{inline.kind}"',
        f"kinds that fit: {', '.join(fitting)}" if fitting else None,
        about=slot.wanted,
    )


def _kind_fits(resources: ResourceSet, name: str, wanted: str) -> bool:
    entry = resources.registry.find(name)
    return isinstance(entry, Entry) and entry.fits(wanted)


def _check_reference(
    resource: Resource, slot: SlotValue, ref: Ref, resources: ResourceSet, findings: Findings, lost_names: set[str]
) -> None:
    if not ref.name.strip() or "${{" in ref.name:
        message = '"!ref" takes the name of a resource'
        hint = "a reference is not evaluated" if ref.name.strip() else None
        findings.report(resource, slot.place, "REF_EXPECTED", message, hint)
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
            f'"{_shown(resource, slot)}" takes "{slot.wanted}", and "{ref.name}" is of kind "{target.kind}"',
            f"of the right kind: {', '.join(first)}" if first else None,
            about=slot.wanted,
        )


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


def _check_places(resource: Resource, in_slots: set[int], findings: Findings) -> None:
    """References of a document that stand in no slot, and not below something that was reported."""
    for value in findings.parts(resource):
        if type(value) is Ref and id(value) not in in_slots:
            shown = f"!ref {value.name}".rstrip()
            message = f'"{shown}" stands in a field that takes no reference'
            findings.report(resource, value.place, "REF_MISPLACED", message)


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
