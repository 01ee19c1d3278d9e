"""Who needs whom: edges between named resources, start order, circles."""

from collections.abc import Iterator
from typing import NamedTuple

from runtime.manifest import Ref
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet, SlotValue


class Edge(NamedTuple):
    """`source` refers to `target` by a reference in `slot` of `holder`, which is `source` or an inline part of it."""

    source: Resource
    target: Resource
    holder: Resource
    slot: SlotValue


def edges(resources: ResourceSet) -> Iterator[Edge]:
    """The references that hold, in the order of the files: a faulty one is no edge."""
    for holder in resources.resources:
        for slot in holder.slots:
            if type(slot.value) is Ref:
                target = resources.by_name.get(slot.value.name)
                if target is not None and (not isinstance(target.entry, Entry) or target.entry.fits(slot.wanted)):
                    yield Edge(holder.root, target, holder, slot)


def tangles(links: list[Edge]) -> list[list[Resource]]:
    """Groups of resources that depend on each other in any circle (strongly connected, by Tarjan's algorithm)."""
    targets: dict[Resource, list[Resource]] = {}
    for edge in links:
        targets.setdefault(edge.source, []).append(edge.target)
    number: dict[Resource, int] = {}
    lowest: dict[Resource, int] = {}
    stack: list[Resource] = []
    on_stack: set[Resource] = set()
    found: list[list[Resource]] = []
    for root in targets:
        if root in number:
            continue
        work = [(root, iter(targets.get(root, ())))]
        number[root] = lowest[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for target in rest:
                if target not in number:
                    number[target] = lowest[target] = len(number)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(targets.get(target, ()))))
                    break
                if target in on_stack:
                    lowest[node] = min(lowest[node], number[target])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == number[node]:
                    group: list[Resource] = []
                    while not group or group[-1] is not node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1 or node in targets.get(node, ()):
                        found.append(group)
    return found


def circle(links: list[Edge], start: Edge) -> list[str]:
    """The shortest way from an edge's target back to its source, as names, the first one twice."""
    targets: dict[Resource, list[Resource]] = {}
    for edge in links:
        targets.setdefault(edge.source, []).append(edge.target)
    came_from: dict[Resource, Resource | None] = {start.target: None}
    queue = [start.target]
    for node in queue:
        if node is start.source:
            break
        for target in targets.get(node, ()):
            if target not in came_from:
                came_from[target] = node
                queue.append(target)
    way: list[str] = []
    node_or_none: Resource | None = start.source
    while node_or_none is not None:
        way.append(node_or_none.title)
        node_or_none = came_from.get(node_or_none)
    return [start.source.title, *reversed(way)]


def find_needs(resource: Resource, resources: ResourceSet) -> list[Resource]:
    """What stands in the slots of a resource, in their order; each once."""
    found: list[Resource] = []
    for slot in resource.slots:
        target = resources.by_name.get(slot.value.name) if type(slot.value) is Ref else slot.inline
        if target is not None and target not in found:
            found.append(target)
    return found


def start_order(resources: ResourceSet, roots: list[Resource]) -> list[Resource]:
    """What has to be open for the roots, themselves included, each after what it needs. The set has no circle."""
    ordered: list[Resource] = []
    seen: set[Resource] = set()
    for root in roots:
        work = [(root, iter(find_needs(root, resources)))] if root not in seen else []
        seen.add(root)
        while work:
            resource, rest = work[-1]
            following = next((needed for needed in rest if needed not in seen), None)
            if following is None:
                ordered.append(resource)
                work.pop()
            else:
                seen.add(following)
                work.append((following, iter(find_needs(following, resources))))
    return ordered
