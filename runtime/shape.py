"""The shape of a kind's fields, read from their types: where its slots are, and what is evaluated when.

A shape is a tree that follows the fields: a step is a field's name, `[]` for every element of a list, or `*` for every
value of a mapping. What the tree does not mention is evaluated once, before the resource opens.
"""

from collections import abc
from functools import cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec


class Slot:
    """Takes a reference or an inline resource of the contract or kind `wanted`."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted


class Fixed:
    """Never evaluated."""


class PerCall:
    """Evaluated at each call, with `names` in scope as well: each with the field beside it whose schema types it."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names


Node = Slot | Fixed | PerCall | dict[str, Any]

_LISTS = frozenset((list, set, frozenset, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Set, abc.MutableSet))
_MAPPINGS = frozenset((dict, abc.Mapping, abc.MutableMapping))
_PLAIN = frozenset((Any, str, int, float, bool, bytes, NoneType, msgspec.UnsetType, *_LISTS, *_MAPPINGS, tuple))


class Shape:
    """`tree` follows the fields of a kind's class; `fields` are their names in manifests."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls
        self.fields = frozenset(field.encode_name for field in msgspec.structs.fields(cls))
        try:
            tree = read_types(cls)
        except UnknownTypeError:  # a schema can be made of all types, but takes several times as long
            tree = read_schema(self.schema)
        self.tree: dict[str, Any] = tree if isinstance(tree, dict) else {}

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema (2020-12) of the fields."""
        return msgspec.json.schema(self._cls)


def shape_of(cls: Any) -> Shape:
    """The shape of a kind's class."""
    return Shape(cls)


class UnknownTypeError(Exception):
    """A type whose place in a schema only msgspec knows."""


def read_types(declared: Any) -> Node | None:
    """The tree of a type, the same as that of its schema; raises `UnknownTypeError`."""
    return _tree_of(declared, ())


def read_schema(schema: dict[str, Any]) -> Node | None:
    """The tree of a JSON Schema that msgspec made of a type."""
    return _tree(schema, schema, ())


def _tree_of(declared: Any, above: tuple[Any, ...]) -> Node | None:
    origin = get_origin(declared)
    if origin is Annotated:
        mark = _mark({key: value for meta in declared.__metadata__ for key, value in _keywords(meta)})
        return mark or _tree_of(declared.__origin__, above)
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        return _tree_of_struct(declared, above)
    if origin in (Union, UnionType):
        return _merge(_tree_of(option, above) for option in get_args(declared))
    if origin in _MAPPINGS:
        return _below("*", _tree_of(get_args(declared)[1], above))
    if origin in _LISTS or (origin is tuple and get_args(declared)[1:] == (...,)):
        return _below("[]", _tree_of(get_args(declared)[0], above))
    if origin is Literal or declared in _PLAIN:
        return None
    raise UnknownTypeError


def _keywords(meta: Any) -> abc.Iterable[tuple[str, Any]]:
    return meta.extra_json_schema.items() if isinstance(meta, msgspec.Meta) and meta.extra_json_schema else ()


def _tree_of_struct(declared: Any, above: tuple[Any, ...]) -> Node | None:
    if declared in above:  # a recursive type: its parts below this one are evaluated like any other
        return None
    config = declared.__struct_config__
    if config.array_like or config.tag is not None:
        raise UnknownTypeError
    inside = (*above, declared)
    nodes = {field.encode_name: _tree_of(field.type, inside) for field in msgspec.structs.fields(declared)}
    return {name: node for name, node in nodes.items() if node is not None} or None


def _below(step: str, node: Node | None) -> Node | None:
    return None if node is None else {step: node}


def _merge(options: abc.Iterable[Node | None]) -> Node | None:
    tree: dict[str, Any] = {}
    for node in options:
        if isinstance(node, dict):
            tree |= node
        elif node is not None:
            return node
    return tree or None


def _mark(schema: abc.Mapping[str, Any]) -> Node | None:
    """What the keywords of ours say of a field."""
    if "x-ref" in schema:
        return Slot(schema["x-ref"])
    if schema.get("x-eval") is False:
        return Fixed()
    if "x-scope" in schema:
        return PerCall(schema["x-scope"])
    return None


def _resolve(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        target: dict[str, Any] = root["$defs"][schema["$ref"].rpartition("/")[2]]
        schema = target
    return schema


def _tree(schema: dict[str, Any], root: dict[str, Any], above: tuple[str, ...]) -> Node | None:
    mark = _mark(schema)
    if mark is not None:
        return mark
    reference = schema.get("$ref")
    if reference is not None:
        if reference in above:
            return None
        return _tree(_resolve(schema, root), root, (*above, reference))
    tree: dict[str, Any] = {}
    for name, part in schema.get("properties", {}).items():
        node = _tree(part, root, above)
        if node is not None:
            tree[name] = node
    for keyword, step in (("items", "[]"), ("additionalProperties", "*")):
        part = schema.get(keyword)
        if isinstance(part, dict):
            node = _tree(part, root, above)
            if node is not None:
                tree[step] = node
    for keyword in ("anyOf", "oneOf"):
        for part in schema.get(keyword, ()):
            node = _tree(part, root, above)
            if isinstance(node, dict):
                tree |= node
            elif node is not None:
                return node
    return tree or None
