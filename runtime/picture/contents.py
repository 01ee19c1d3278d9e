"""What a picture shows: a box for each resource, a link for each reference."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from runtime.manifest import Mapping, Ref
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet, SlotValue

CONTRACTS = {
    "Runtime.Invocable": "agent",
    "Ai.Model": "model",
    "Ai.ToolProvider": "tools",
    "Mcp.Client": "server",
}
"""By which boxes look alike; the first that fits."""


class Box(Struct, frozen=True):
    """A resource. `role` is what it is to the others; `status` and `note` are of a live one."""

    name: str
    kind: str
    role: str
    status: str = ""
    note: str = ""


class Link(Struct, frozen=True):
    """The box number `source` refers to the box number `target` in `field`; an agent's tools get the `prefix`."""

    source: int
    target: int
    field: str
    prefix: str = ""

    @property
    def label(self) -> str:
        return f"{self.field} {self.prefix}".rstrip()


class Picture(Struct, frozen=True):
    """Boxes, and links between them."""

    boxes: Sequence[Box]
    links: Sequence[Link]


def drawn_resources(resources: ResourceSet) -> list[Resource]:
    """What of a checked set is drawn: all but the application document and the cases of `runtime test`."""
    return [
        resource
        for resource, entry in resources.known()
        if not resource.root.is_application and not entry.fits("Runtime.Case") and not _is_of_case(resource)
    ]


def make_picture(resources: Sequence[Resource]) -> Picture:
    """The picture of resources, each with a kind that was found; references to what is not among them are left out."""
    boxes = [Box(resource.title, _entry(resource).name, find_role(_entry(resource))) for resource in resources]
    return Picture(boxes, list(find_links(resources)))


def find_role(entry: Entry) -> str:
    """`agent`, `model`, `tools`, `server`, or `other`."""
    return next((role for contract, role in CONTRACTS.items() if entry.fits(contract)), "other")


def find_links(resources: Sequence[Resource]) -> Iterator[Link]:
    """The links between resources by their numbers, each once."""
    numbers = {resource: number for number, resource in enumerate(resources)}
    named = {resource.name: resource for resource in resources if resource.owner is None}
    seen: set[Link] = set()
    for resource, number in numbers.items():
        for slot in resource.slots:
            target = named.get(slot.value.name) if type(slot.value) is Ref else slot.inline
            if target in numbers:
                link = Link(number, numbers[target], _find_field(resource.body, slot), _find_prefix(slot))
                if link not in seen:
                    seen.add(link)
                    yield link


def as_data(resources: Sequence[Resource]) -> dict[str, Any]:
    """The picture as JSON has it: `{resources: [{id, name, kind, role, file, line}], links: [{from, to, field}]}`."""
    picture = make_picture(resources)
    return {
        "resources": [
            {
                "id": number,
                "name": box.name,
                "kind": box.kind,
                "role": box.role,
                "file": resource.source.name,
                "line": resource.source.position(resource.body.start)[0],
            }
            for number, (box, resource) in enumerate(zip(picture.boxes, resources, strict=True))
        ],
        "links": [
            {"from": link.source, "to": link.target, "field": link.field}
            | ({"prefix": link.prefix} if link.prefix else {})
            for link in picture.links
        ],
    }


def _is_of_case(resource: Resource) -> bool:
    entry = resource.root.entry
    return isinstance(entry, Entry) and entry.fits("Runtime.Case")


def _entry(resource: Resource) -> Entry:
    assert isinstance(resource.entry, Entry)
    return resource.entry


def _find_field(body: Mapping, slot: SlotValue) -> str:
    """The field of a resource that a slot stands in, however deep."""
    if slot.container is body:
        return str(slot.key)
    return next((key for key, value in body.items() if _holds(value, slot.container)), "")


def _holds(value: Any, wanted: Any) -> bool:
    if value is wanted:
        return True
    if isinstance(value, dict):
        return any(_holds(item, wanted) for item in value.values())
    return isinstance(value, list) and any(_holds(item, wanted) for item in value)


def _find_prefix(slot: SlotValue) -> str:
    prefix = slot.container.get("prefix") if isinstance(slot.container, dict) else None
    return str(prefix) if isinstance(prefix, str) else ""
