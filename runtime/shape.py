"""The shape of a kind's fields, read from its JSON Schema: where its slots are, and what is evaluated when.

A shape is a tree that follows the fields: a step is a field's name, `[]` for every element of a list, or `*` for every
value of a mapping. What the tree does not mention is evaluated once, before the resource opens.
"""

from typing import Any

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


class Shape:
    """`tree` follows the fields; `fields` are the names at top level; `schema` is the JSON Schema (2020-12)."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        root = _resolve(schema, schema)
        self.fields: frozenset[str] = frozenset(root.get("properties", ()))
        tree = _tree(root, schema, ())
        self.tree: dict[str, Any] = tree if isinstance(tree, dict) else {}


def shape_of(cls: Any) -> Shape:
    """The shape of a kind's class."""
    return Shape(msgspec.json.schema(cls))


def _resolve(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        target: dict[str, Any] = root["$defs"][schema["$ref"].rpartition("/")[2]]
        schema = target
    return schema


def _tree(schema: dict[str, Any], root: dict[str, Any], above: tuple[str, ...]) -> Node | None:
    if "x-ref" in schema:
        return Slot(schema["x-ref"])
    if schema.get("x-eval") is False:
        return Fixed()
    if "x-scope" in schema:
        return PerCall(schema["x-scope"])
    reference = schema.get("$ref")
    if reference is not None:
        if reference in above:  # a recursive type: its parts below this one are evaluated like any other
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
