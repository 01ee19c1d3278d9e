"""What a kind's types say of it, as data: for `runtime explain`, the editor's schema and the reference pages."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from runtime.errors import UsageError
from runtime.registry import Contract, Entry, Registry

_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} elements",
    "maxItems": "at most {} elements",
    "pattern": "of the form {}",
}


class Field(msgspec.Struct, frozen=True):
    """One field. `path` is how it is reached from the kind, `[]` standing for each element of a list."""

    path: str
    type: str
    is_required: bool
    default: Any
    description: str
    is_evaluated: bool
    """False where an expression may not stand."""

    @property
    def shown_default(self) -> str:
        """The default as JSON; empty where it says nothing: a mapping's is that of the fields inside."""
        if self.default is msgspec.UNSET or isinstance(self.default, dict) or self.default in ([], ""):
            return ""
        return msgspec.json.encode(self.default).decode()


class Reference(msgspec.Struct, frozen=True):
    """A kind: what it is for, which contracts it keeps, its fields with those inside them."""

    name: str
    description: str
    contracts: tuple[str, ...]
    fields: tuple[Field, ...]


def refer(entry: Entry) -> Reference:
    """The reference of a kind."""
    schema = entry.shape.schema
    root = _resolve(schema, schema)
    description = str(root.get("description", "")).strip()
    return Reference(entry.name, description, entry.contracts, tuple(_fields(root, schema, "", True, ())))


def kinds(registry: Registry) -> Iterator[Entry]:
    """Every kind there is, by name."""
    for name in registry.names():
        found = registry.find(name)
        if isinstance(found, Entry):
            yield found


def implementers(registry: Registry, contract: str) -> list[str]:
    """The kinds whose instances keep a contract."""
    return [entry.name for entry in kinds(registry) if entry.fits(contract)]


def find_kind(registry: Registry, name: str) -> Entry | Contract:
    """The kind or contract of a name; UsageError with the nearest one."""
    found = registry.find(name)
    if found is None:
        from runtime.diagnostics.nearby import nearest

        raise UsageError(f'there is no kind "{name}"', hint=nearest(name, registry.names()))
    return found


def _fields(
    schema: Mapping[str, Any], root: Mapping[str, Any], above: str, is_evaluated: bool, seen: tuple[str, ...]
) -> Iterator[Field]:
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        field = refer_field(f"{above}{name}", part, root, is_required=name in required, is_evaluated=is_evaluated)
        yield field
        yield from _inside(part, root, field.path, field.is_evaluated, seen)


def refer_field(
    path: str, part: Mapping[str, Any], root: Mapping[str, Any], *, is_required: bool, is_evaluated: bool
) -> Field:
    """The field whose schema is `part` of the schema `root`; `is_evaluated` says so of what it stands in."""
    evaluated = is_evaluated and part.get("x-eval") is not False and "x-ref" not in part
    default = part.get("default", msgspec.UNSET)
    text = str(part.get("description", "")).strip()
    return Field(path, _type(part, root), is_required, default, text, evaluated)


def alternatives(part: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What a part of the schema `root` may be, references and `anyOf` followed."""
    part = _resolve(part, root)
    if "anyOf" not in part:
        yield part
    for option in part.get("anyOf", ()):
        yield from alternatives(option, root)


def _inside(
    part: Mapping[str, Any], root: Mapping[str, Any], path: str, is_evaluated: bool, seen: tuple[str, ...]
) -> Iterator[Field]:
    """The fields of the mappings that a field holds."""
    reference = part.get("$ref")
    if reference is not None and reference not in seen:
        yield from _fields(_resolve(part, root), root, f"{path}.", is_evaluated, (*seen, reference))
    for option in part.get("anyOf", ()):
        yield from _inside(option, root, path, is_evaluated, seen)
    if isinstance(part.get("items"), dict):
        yield from _inside(part["items"], root, f"{path}[]", is_evaluated, seen)
    if isinstance(part.get("additionalProperties"), dict):
        yield from _inside(part["additionalProperties"], root, f"{path}.*", is_evaluated, seen)


def _type(part: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """The type of a field in words: `text`, `list of text`, `reference to Mcp.Client`, `"throw" or "return"`."""
    if "x-ref" in part:
        return f"reference to {part['x-ref']}"
    if "$ref" in part:
        target = _resolve(part, root)
        return _type(target, root)
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(_type(option, root) for option in part["anyOf"]))
    if "enum" in part:
        return " or ".join(msgspec.json.encode(value).decode() for value in part["enum"])
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    kind = part.get("type")
    limits = [_limit(keyword, text, part[keyword]) for keyword, text in _LIMITS.items() if keyword in part]
    limit = f", {', '.join(limits)}" if limits else ""
    if kind == "array":
        items = part.get("items")
        return (f"list of {_type(items, root)}" if items else "list") + limit
    if kind == "object":
        values = part.get("additionalProperties")
        return (f"mapping of {_type(values, root)}" if isinstance(values, dict) and values else "mapping") + limit
    return names.get(str(kind), "any value") + limit


def _limit(keyword: str, text: str, bound: Any) -> str:
    return "not empty" if keyword in ("minLength", "minItems") and bound == 1 else text.format(bound)


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema
