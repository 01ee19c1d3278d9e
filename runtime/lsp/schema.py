"""What the kinds say of a place in a document: its schema, the slot it is in, and the fields that may stand there."""

from collections.abc import Iterator
from typing import Any

from runtime.errors import Error
from runtime.lsp.cursor import Path, value_at
from runtime.lsp.tree import Fields
from runtime.reference import Field, alternatives, kinds, refer_field
from runtime.registry import Contract, Entry, Registry

_DECLARATION = {
    "kind": Field("kind", "text", True, None, "What is declared: `Module.Name`.", False),
    "metadata": Field("metadata", "mapping", True, None, "The resource's name, and labels of your own.", False),
}
_NAME = Field("name", "text", True, None, "The name that `!ref` calls the resource by.", False)


class Place:
    """A place: the alternatives of its schema, `wanted` where it is a slot, the kind of the resource it is in."""

    def __init__(self, entry: Entry | None, parts: list[Any], wanted: str, *, is_resource: bool) -> None:
        self.entry = entry
        self.parts = parts
        self.wanted = wanted
        self.is_resource = is_resource

    def choices(self) -> Iterator[Any]:
        """The values that the place takes, where they are counted: of an enumeration, true and false."""
        for part in self.parts:
            yield from part.get("enum", ())
            if "const" in part:
                yield part["const"]
            if part.get("type") == "boolean":
                yield from (True, False)

    def fields(self) -> dict[str, Field]:
        """The fields of the mapping at this place, by name."""
        found: dict[str, Field] = {}
        root = self.entry.shape.schema if self.entry is not None else {}
        for part in self.parts:
            required = part.get("required", ())
            for name, inner in part.get("properties", {}).items():
                field = refer_field(name, inner, root, is_required=name in required, is_evaluated=True)
                found.setdefault(name, field)
        return found


def find_place(registry: Registry, root: Fields, path: Path) -> Place:
    """The place at the end of a path through the document."""
    place = _resource(registry, root, "")
    for depth, step in enumerate(path):
        value = value_at(root, path[: depth + 1])
        parts = list(_step(place, step))
        wanted = next((part["x-ref"] for part in parts if "x-ref" in part), "")
        if wanted:
            place = _resource(registry, value if isinstance(value, Fields) else Fields(), wanted)
        else:
            place = Place(place.entry, parts, "", is_resource=False)
    return place


def fields_at(registry: Registry, root: Fields, path: Path) -> dict[str, Field]:
    """The keys that the mapping at the end of a path may have, `kind` and `metadata` of a resource with them."""
    if path == ("metadata",):
        return {"name": _NAME}
    place = find_place(registry, root, path)
    declared = dict(_DECLARATION) if not path else {"kind": _DECLARATION["kind"]} if place.is_resource else {}
    return {**declared, **place.fields()}


def kinds_at(registry: Registry, root: Fields, path: Path) -> list[Entry]:
    """The kinds that may stand at the end of a path that ends with `kind`; none where it is no resource's."""
    place = find_place(registry, root, path[:-1])
    if not place.is_resource:
        return []
    return [entry for entry in kinds(registry) if not place.wanted or entry.fits(place.wanted)]


def holds_names(registry: Registry, root: Fields, path: Path, *, is_key: bool) -> bool:
    """Whether the text at the end of a path, or a key of the mapping there, is the name of a resource."""
    if is_key:
        return any(part.get("x-names") for part in find_place(registry, root, path).parts)
    above = path[:-1] if path and isinstance(path[-1], int) else path
    return any(part.get("x-names") and "properties" not in part for part in find_place(registry, root, above).parts)


def find_entry(registry: Registry, name: str) -> Entry | Contract | None:
    """The kind of a name; None where there is none, or where its module cannot be imported."""
    try:
        return registry.find(name)
    except Error:
        return None


def _resource(registry: Registry, fields: Fields, wanted: str) -> Place:
    entry = find_entry(registry, fields.text("kind"))
    if not isinstance(entry, Entry):
        return Place(None, [], wanted, is_resource=True)
    schema = entry.shape.schema
    return Place(entry, list(alternatives(schema, schema)), wanted, is_resource=True)


def _step(place: Place, step: str | int) -> Iterator[Any]:
    if place.entry is None:
        return
    schema = place.entry.shape.schema
    for part in place.parts:
        inner = _inside(part, step)
        if isinstance(inner, dict):
            yield from alternatives(inner, schema)


def _inside(part: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return part.get("items")
    return part.get("properties", {}).get(step, part.get("additionalProperties"))
