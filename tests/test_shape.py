"""Shapes: read from the types of a kind's fields, the same as those that its JSON Schema has."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from runtime.contracts import Invocable
from runtime.kind import FIXED, Fields, Kind, Slot, per_call
from runtime.registry import Entry, Registry
from runtime.shape import Fixed, PerCall, UnknownTypeError, read_schema, read_types, shape_of

Target = Slot[Invocable, "What runs."]


class Part(Fields):
    target: Target
    plain_text: str = ""


class Leaf(Fields):
    below: "Sequence[Leaf]" = ()
    words: Annotated[str, Meta(extra_json_schema=FIXED)] = ""


class Colour(Enum):
    RED = "red"


class Box(TypedDict):
    inside: Target


class Point(Struct, array_like=True):
    at: Target


class Tagged(Struct, tag="tagged"):
    at: Target


def as_data(node: Any) -> Any:
    """A tree as values that can be compared."""
    if isinstance(node, dict):
        return {name: as_data(below) for name, below in node.items()}
    return (type(node).__name__, vars(node)) if node is not None else {}


SLOT = ("Slot", {"wanted": "Runtime.Invocable"})


@pytest.mark.parametrize(
    ("declared", "tree"),
    [
        (str, {}),
        (Target, SLOT),
        (Part, {"target": SLOT}),
        (Part | UnsetType, {"target": SLOT}),
        (Annotated[Part, Meta(description="A part.")], {"target": SLOT}),
        (list[Part], {"[]": {"target": SLOT}}),
        (Sequence[Part], {"[]": {"target": SLOT}}),
        (tuple[Part, ...], {"[]": {"target": SLOT}}),
        (Mapping[str, Part], {"*": {"target": SLOT}}),
        (dict[str, list[Part]], {"*": {"[]": {"target": SLOT}}}),
        (str | list[Part] | None, {"[]": {"target": SLOT}}),
        (list[Part] | dict[str, Leaf], {"[]": {"target": SLOT}, "*": {"words": ("Fixed", {})}}),
        (Leaf, {"words": ("Fixed", {})}),
        (Literal["a", "b"] | int, {}),
        (Annotated[str, Meta(extra_json_schema=FIXED)] | UnsetType, ("Fixed", {})),
        (Annotated[Annotated[str, Meta(min_length=1)], Meta(extra_json_schema=FIXED)], ("Fixed", {})),
        (Annotated[Any, Meta(extra_json_schema=per_call("result"))], ("PerCall", {"names": {"result": ""}})),
        (Mapping[str, Any], {}),
        (list, {}),
    ],
)
def test_a_tree_follows_the_types(declared: Any, tree: Any) -> None:
    schema = msgspec.json.schema(declared)

    assert (as_data(read_types(declared)), as_data(read_schema(schema))) == (tree, tree)


@pytest.mark.parametrize("declared", [Colour, Box, Point, Tagged, list[Box], tuple[str, Part]])
def test_a_type_that_is_not_known_is_left_to_its_schema(declared: Any) -> None:
    with pytest.raises(UnknownTypeError):
        read_types(declared)


def test_a_kind_with_a_type_that_is_not_known_has_its_tree_all_the_same() -> None:
    class Boxed(Kind):
        box: Box | UnsetType = UNSET
        call_later: Annotated[str, Meta(extra_json_schema=per_call("result"))] = ""

    shape = shape_of(Boxed)

    assert as_data(shape.tree) == {"box": {"inside": SLOT}, "callLater": ("PerCall", {"names": {"result": ""}})}
    assert shape.fields == {"box", "callLater"}


def test_every_kind_of_ours_has_the_tree_and_the_fields_of_its_schema() -> None:
    registry = Registry()
    entries = [entry for name in registry.names() if isinstance(entry := registry.find(name), Entry)]

    for entry in entries:
        schema = entry.shape.schema
        fields = schema["$defs"][entry.cls.__name__]["properties"].keys()
        assert as_data(read_types(entry.cls)) == as_data(read_schema(schema)), entry.name
        assert (as_data(entry.shape.tree), entry.shape.fields) == (as_data(read_types(entry.cls)), set(fields))
    assert len(entries) >= 19


def test_marks_are_what_the_words_of_kinds_say() -> None:
    node = read_types(Leaf)

    assert isinstance(node, dict) and isinstance(node["words"], Fixed)
    assert isinstance(read_types(Annotated[Any, Meta(extra_json_schema=per_call("x"))]), PerCall)
