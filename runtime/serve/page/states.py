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

    `note` says why it is not ready, or what was last said against it; `summary` is what it says of itself.
    """

    id: int
    name: str
    kind: str
    role: str
    status: str
    note: str
    summary: str
    needs: Sequence[int]


def find_states(graph: ServedGraph, warnings: Mapping[str, str], starting: Collection[str]) -> list[State]:
    """The states of all resources, each after those that it needs; `starting` are being started anew."""
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    states: list[State] = []
    for node in graph.nodes:
        needs = [numbers[need] for need in node.needs]
        status, note = _find_own(node, graph, starting)
        lacking = [states[need].name for need in needs if states[need].status != "ready"]
        if status == "ready" and lacking:
            status, note = "degraded", f"without {', '.join(lacking)}"
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


def _find_own(node: Node, graph: ServedGraph, starting: Collection[str]) -> tuple[str, str]:
    if node.name in starting:
        return "starting", "it is started anew"
    instance: Any = graph.live.instances[node]
    health = getattr(instance, "health", None)
    if health is not None:
        status, note = health
        return str(status), str(note)
    # A client's `server` is None while an optional server is not there.
    if getattr(instance, "server", instance) is None:
        return "failed", "it is not there"
    return "ready", ""
