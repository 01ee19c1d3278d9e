"""What is in scope where: variables, secrets, the resource's own metadata, and the names of a call."""

import re
from collections.abc import Set
from typing import Any

from runtime.expressions import Scope, names_in
from runtime.manifest import Broken, Expression, Mapping
from runtime.resource_set import Resource, ResourceSet
from runtime.shape import PerCall

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_ARGUMENT = re.compile(r"[A-Za-z0-9_./ -]+")
"""What CEL takes as a field, if need be in backquotes."""
_ELSEWHERE = frozenset(("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"))
_NOTHING: dict[str, Any] = {}
_TYPES = frozenset(("string", "integer", "number", "boolean", "array", "object"))


class Scopes:
    """The scopes of a set; equal ones are the same object, so that an expression is compiled once."""

    def __init__(self, resources: ResourceSet, lost_keys: Set[str] = frozenset()) -> None:
        """`lost_keys` are those of application documents that cannot be read: what they declare is not unknown."""
        applications = resources.applications
        self._types: dict[str, str] = {}
        for block in ("variables", "secrets"):
            given = [application.body[block] for application in applications if block in application.body]
            types = {name: declared for part in given for name, declared in _declared(part).items()}
            if (block == "secrets" and not given) or not all(type(part) is Mapping for part in given):
                types |= dict.fromkeys(sorted(_used(resources, block) - types.keys()), "any")
            elif lost_keys:
                types |= dict.fromkeys(sorted((_used(resources, block) & lost_keys) - types.keys()), "any")
            self._types |= {
                f"{block}.{name}": "string" if block == "secrets" else declared for name, declared in types.items()
            }
        self._scopes: dict[tuple[Any, ...], Scope] = {}
        self._calls: dict[tuple[int, ...], Scope] = {}

    def of(self, resource: Resource) -> Scope:
        """The scope of a resource's fields."""
        metadata = resource.body.get("metadata", _NOTHING)
        if not isinstance(metadata, dict):  # at fault: what it was to hold is not unknown
            return self._scope({"metadata": "any"})
        own = {f"metadata.{key}": json_type(value) for key, value in metadata.items() if _is_name(key)}
        if resource.owner is None:
            own.setdefault("metadata.name", "any")  # a name that is missing was told already
        return self._scope(own)

    def with_call(self, scope: Scope, node: PerCall, container: Mapping) -> Scope:
        """The scope inside a field that is evaluated at each call; `container` is the mapping that it stands in."""
        key = (id(scope), id(node), id(container))
        if key not in self._calls:
            types = dict(scope.types)
            for name, typed_by in node.names.items():
                types |= call_types(name, container.get(typed_by) if typed_by else None)
            self._calls[key] = self._shared(types)
        return self._calls[key]

    def _scope(self, own: dict[str, str]) -> Scope:
        return self._shared(self._types | own)

    def _shared(self, types: dict[str, str]) -> Scope:
        key = tuple(sorted(types.items()))
        if key not in self._scopes:
            self._scopes[key] = Scope(types)
        return self._scopes[key]


def call_types(name: str, schema: Any) -> dict[str, str]:
    """The typed names of a call: one for each property of a schema, or the bare name of any type.

    A schema that is at fault, or has its properties elsewhere, leaves the names open.
    """
    if not isinstance(schema, dict):
        return {name: "any"}
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or (not properties and not _ELSEWHERE.isdisjoint(schema)):
        return {name: "any"}
    types = {}
    for key, part in properties.items():
        declared = part.get("type") if isinstance(part, dict) else None
        if _ARGUMENT.fullmatch(key):
            types[f"{name}.{key}"] = declared if isinstance(declared, str) and declared in _TYPES else "any"
    return types


def json_type(value: Any) -> str:
    """The type of a value as it stands in a manifest."""
    if isinstance(value, (Expression, Broken)):
        return "any"
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "any"


def _declared(block: Any) -> dict[str, str]:
    """The declared types of a `variables:` or `secrets:` block; `any` where the declaration itself is at fault."""
    if not isinstance(block, dict):
        return {}
    types = {}
    for name, declaration in block.items():
        declared = declaration.get("type", "string") if isinstance(declaration, dict) else None
        if _is_name(name):
            types[name] = declared if isinstance(declared, str) and declared in _TYPES else "any"
    return types


def _used(resources: ResourceSet, block: str) -> set[str]:
    """The names that expressions take from a block. Without a `secrets:` block every name is a secret."""
    return {
        name
        for document in resources.documents
        for expression in document.expressions
        for name in names_in(expression, block, is_tagged=expression.is_tagged)
    }


def _is_name(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None
