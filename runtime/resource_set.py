"""Documents to resources: who declares what, of which kind, and what stands in its slots.

Nothing is judged here. What cannot be known (a missing kind, an unknown one) is left empty; the checks say so.
"""

from collections.abc import Iterator
from typing import Any

from runtime.errors import Error
from runtime.manifest import Document, Mapping, Sequence, Source
from runtime.registry import APPLICATION, Contract, Entry, Registry
from runtime.shape import Slot


class SlotValue:
    """What stands in a slot: `value` at `place`, in the mapping or list `container` under `key`."""

    __slots__ = ("container", "inline", "key", "place", "value", "wanted")

    def __init__(self, container: Any, key: Any, place: int, value: Any, wanted: str) -> None:
        self.container = container
        self.key = key
        self.place = place
        self.value = value
        self.wanted = wanted
        self.inline: Resource | None = None


class Resource:
    """What a document, or a mapping in a slot, declares.

    `kind` is the value as it stands; `entry` is the kind that was found, None where nothing more can be said. `owner`
    is the resource that an inline one stands in.
    """

    __slots__ = ("body", "document", "entry", "kind", "name", "owner", "problem", "slots")

    def __init__(self, document: Document, body: Mapping, owner: "Resource | None") -> None:
        self.document = document
        self.body = body
        self.owner = owner
        self.kind: Any = body.get("kind")
        metadata = body.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        self.name: str | None = name if type(name) is str and owner is None else None
        self.entry: Entry | Contract | None = None
        self.problem: Error | None = None
        self.slots: list[SlotValue] = []

    @property
    def source(self) -> Source:
        return self.document.source

    @property
    def root(self) -> "Resource":
        """The named resource that this one is a part of: itself, or the one that it stands in."""
        resource = self
        while resource.owner is not None:
            resource = resource.owner
        return resource

    @property
    def title(self) -> str:
        """How people call it: `Files`, or `Mcp.StdioClient in Assistant` for an inline one."""
        if self.owner is None:
            return self.name or "a resource without a name"
        return f"{self.kind} in {self.root.title}"

    @property
    def is_application(self) -> bool:
        return isinstance(self.entry, Entry) and self.entry.name == APPLICATION

    @property
    def is_misnamed(self) -> bool:
        """Whether its name stands beside its metadata: that is one fault, of the field, and the name is as good."""
        metadata = self.body.get("metadata", {})
        if "name" not in self.body or not isinstance(metadata, dict) or "name" in metadata:
            return False
        return isinstance(self.entry, Entry) and "name" not in self.entry.shape.fields


class ResourceSet:
    """The resources of a set of manifests, in the order of their files; an inline one follows what it stands in."""

    def __init__(self, documents: list[Document], registry: Registry) -> None:
        self.registry = registry
        self.documents = documents
        self.resources: list[Resource] = []
        self.by_name: dict[str, Resource] = {}
        self._inline: dict[int, Resource] = {}
        for document in documents:
            self._add(Resource(document, document.body, None))

    @property
    def applications(self) -> list[Resource]:
        """The application documents; a good set has one at most."""
        return [resource for resource in self.resources if resource.owner is None and resource.is_application]

    @property
    def application(self) -> Resource | None:
        """The application document; the first one where there are two."""
        return next(iter(self.applications), None)

    def inline(self, value: Any) -> Resource | None:
        """The resource that a value in a slot declares."""
        return self._inline.get(id(value))

    def known(self) -> Iterator[tuple[Resource, Entry]]:
        """The resources whose kind was found."""
        for resource in self.resources:
            if isinstance(resource.entry, Entry):
                yield resource, resource.entry

    def _add(self, resource: Resource) -> None:
        self.resources.append(resource)
        if resource.name:
            self.by_name.setdefault(resource.name, resource)
        kind = resource.kind
        if type(kind) is str and kind:
            try:
                resource.entry = self.registry.find(kind)
            except Error as error:
                resource.problem = error
        if isinstance(resource.entry, Entry):
            resource.slots = list(_slots(resource.body, resource.entry.shape.tree))
            for slot in resource.slots:
                if type(slot.value) is Mapping:
                    slot.inline = self._inline.get(id(slot.value))  # one that an alias brings to several slots is one
                    if slot.inline is None:
                        slot.inline = self._inline[id(slot.value)] = Resource(resource.document, slot.value, resource)
                        self._add(slot.inline)


def _slots(container: Any, tree: dict[str, Any]) -> Iterator[SlotValue]:
    """The slots of a mapping or list, along its shape."""
    is_mapping = type(container) is Mapping
    for step, node in tree.items():
        if step == "[]":
            keys: Any = () if is_mapping else range(len(container))
        elif step == "*":
            keys = [key for key in container if key not in tree] if is_mapping else ()
        else:
            keys = (step,) if is_mapping and step in container else ()
        for key in keys:
            value = container[key]
            if type(node) is Slot:
                place = container.places[key][1] if is_mapping else container.places[key]
                yield SlotValue(container, key, place, value, node.wanted)
            elif type(node) is dict and type(value) in (Mapping, Sequence):
                yield from _slots(value, node)
