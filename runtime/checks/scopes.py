"""What is in scope where: variables, secrets, the resource's own metadata, and the names of a call."""

import re
from typing import Any

from runtime.expressions import Scope, names_in
from runtime.manifest import Broken, Expression, Mapping
from runtime.resource_set import Resource, ResourceSet
from runtime.shape import PerCall

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_TYPES = frozenset(("string", "integer", "number", "boolean", "array", "object"))


class Scopes:
    """The scopes of a set; equal ones are the same object, so that an expression is compiled once."""

    def __init__(self, resources: ResourceSet) -> None:
        application = resources.application
        body: Any = application.body if application is not None else {}
        self.variables = _declared(body.get("variables"))
        self.is_closed = "secrets" in body
        names = _declared(body.get("secrets")) if self.is_closed else _used_secrets(resources)
        self.secrets = frozenset(names)
        self._types = {f"variables.{name}": declared for name, declared in self.variables.items()}
        self._types |= {f"secrets.{name}": "string" for name in sorted(self.secrets)}
        self._scopes: dict[tuple[Any, ...], Scope] = {}
        self._calls: dict[tuple[int, ...], Scope] = {}

    def of(self, resource: Resource) -> Scope:
        """The scope of a resource's fields."""
        metadata = resource.body.get("metadata")
        if type(metadata) is not Mapping:
            return self._scope({})
        return self._scope({f"metadata.{key}": json_type(value) for key, value in metadata.items() if _is_name(key)})

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
    """The typed names of a call: one for each property of a schema, or the bare name of any type."""
    if schema is None:
        return {name: "any"}
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    types = {}
    for key, part in properties.items():
        declared = part.get("type") if isinstance(part, dict) else None
        if _is_name(key):
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


def _used_secrets(resources: ResourceSet) -> set[str]:
    """Without a `secrets:` block every name is a secret; these are the ones that expressions use."""
    return {
        name
        for document in resources.documents
        for expression in document.expressions
        for name in names_in(expression, "secrets", is_tagged=expression.is_tagged)
    }


def _is_name(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None
