"""How each resource of the live set fares, and the picture of that."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from msgspec import Struct, structs

from runtime.picture.contents import Picture, find_role, make_picture
from runtime.picture.svg import draw
from runtime.resolver import Node
from runtime.serve.graph import ServedGraph


class State(Struct, frozen=True):
    """A resource and how it fares: `starting`, `ready`, `degraded` (it lacks something it needs) or `failed`.

    `note` says why it is not ready, or what was last said against it; `summary` is what it says of itself. It is
    declared at `line` of `file`.
    """

    id: int
    name: str
    kind: str
    role: str
    status: str
    note: str
    summary: str
    needs: Sequence[int]
    file: str
    line: int


def find_states(graph: ServedGraph, warnings: Mapping[str, str], starting: Collection[str]) -> list[State]:
    """The states of all resources, each after those that it needs.

    Those that are `starting` come in the place of what is up still, so that nothing lacks them.
    """
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    nodes, bad = graph.nodes, set[int]()
    states: list[State] = []
    for node in graph.nodes:
        needs = [numbers[need] for need in node.needs]
        status, note = _find_own(node, graph)
        lacking = [nodes[need].name for need in needs if need in bad]
        if status == "ready" and lacking:
            status, note = "degraded", f"without {', '.join(lacking)}"
        if status != "ready":
            bad.add(numbers[node])
        if node.name in starting:
            status, note = "starting", "another one is being started in its place"
        warning = warnings.get(node.name, "")
        if not note:
            note = warning
        entry = node.entry
        summary = "" if status == "failed" else str(getattr(graph.live.instances[node], "summary", ""))
        states.append(
            State(
                numbers[node],
                node.name,
                entry.name,
                find_role(entry),
                status,
                graph.masker(note),
                graph.masker(summary),
                needs,
                node.resource.source.name,
                node.resource.source.position(node.resource.body.start)[0],
            )
        )
    return states


def draw_states(graph: ServedGraph, states: Sequence[State]) -> str:
    """The picture of the live set as SVG; each box leads to its resource on the page."""
    picture = make_picture([node.resource for node in graph.nodes])
    boxes = [
        structs.replace(box, status=state.status, note=state.note)
        for box, state in zip(picture.boxes, states, strict=True)
    ]
    root = draw(Picture(boxes, picture.links), links_to="#/resources/")
    root.set("role", "group")
    root.set("aria-label", f"picture of {len(boxes)} resources")
    return ElementTree.tostring(root, encoding="unicode")


def _find_own(node: Node, graph: ServedGraph) -> tuple[str, str]:
    instance: Any = graph.live.instances[node]
    health = getattr(instance, "health", None)
    if health is not None:
        status, note = health
        return str(status), str(note)
    # A client's `server` is None while an optional server is not there.
    if getattr(instance, "server", instance) is None:
        return "failed", "it is not there"
    return "ready", ""
