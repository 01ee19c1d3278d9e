"""A quick check of JSON values: for the keywords that most tools use, a schema becomes a function.

It only ever has to be right when it says yes: what it does not take, or has no function for, is looked at again with
the JSON Schema library (`runtime.ai.arguments`), which is slow to import and to run.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Check = Callable[[Any], bool]

_BEYOND = frozenset(
    (
        "$dynamicRef",
        "$recursiveRef",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "minContains",
        "maxContains",
        "prefixItems",
        "additionalItems",
        "unevaluatedItems",
        "unevaluatedProperties",
        "patternProperties",
        "propertyNames",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "minProperties",
        "maxProperties",
        "uniqueItems",
        "multipleOf",
        "pattern",
        "divisibleBy",
        "disallow",
        "extends",
    )
)
"""Keywords of any draft that assert something and are left to the library; other unknown ones say nothing."""

_OTHER_DRAFTS = ("draft-03", "draft-04")
"""Drafts in which keywords have another meaning: 1.0 is no integer there."""


def _is_integer(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Mapping[str, Check] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


class TooMuch(Exception):
    """The schema has something that the quick check does not know."""


def make_check(schema: Any) -> Check | None:
    """A function that says yes only to what the schema takes; None where the schema is beyond it, or at fault."""
    try:
        if any(draft in schema.get("$schema", "") for draft in _OTHER_DRAFTS):
            return None
        check = Maker(schema).make(schema)
    except (TooMuch, AttributeError, TypeError, RecursionError):
        return None

    def is_taken(value: Any) -> bool:
        try:
            return check(value)
        except RecursionError:  # a definition that is itself
            return False

    return is_taken


class Maker:
    """Makes the check of a schema and of the definitions that it refers to, each once."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._definitions: dict[str, Check] = {}

    def make(self, schema: Any) -> Check:
        if schema is True:
            return lambda value: True
        if not isinstance(schema, Mapping) or not _BEYOND.isdisjoint(schema):
            raise TooMuch
        if "$id" in schema and schema is not self._root:  # references below it start at itself
            raise TooMuch
        checks = [make(schema[keyword], schema, self) for keyword, make in _KEYWORDS.items() if keyword in schema]
        if len(checks) == 1:
            return checks[0]
        return lambda value: all(check(value) for check in checks)

    def find(self, reference: str) -> Check:
        """The check of a definition at the root, made when it is first met and looked up when it runs."""
        if reference not in self._definitions:
            start, _, name = reference.rpartition("/")
            if start not in ("#/$defs", "#/definitions") or "~" in name or "%" in name:
                raise TooMuch
            definitions = self._root.get(start[2:])
            if not isinstance(definitions, Mapping) or name not in definitions:
                raise TooMuch
            self._definitions[reference] = lambda value: False  # what refers to it meanwhile finds it by name
            self._definitions[reference] = self.make(definitions[name])
        return lambda value: self._definitions[reference](value)


def _reference(reference: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
    return maker.find(reference)


def _type(wanted: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
    if isinstance(wanted, str):
        wanted = [wanted]
    if (
        not isinstance(wanted, Sequence)
        or not wanted
        or not all(isinstance(name, str) and name in _TYPES for name in wanted)
    ):
        raise TooMuch
    if len(wanted) == 1:
        return _TYPES[wanted[0]]
    known = [_TYPES[name] for name in wanted]
    return lambda value: any(check(value) for check in known)


def _const(value: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
    return _enum([value], schema, maker)


def _enum(choices: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
    if not isinstance(choices, Sequence) or not all(isinstance(choice, str) for choice in choices):
        raise TooMuch
    known = frozenset(choices)
    return lambda value: isinstance(value, str) and value in known


def _properties(properties: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
    if not isinstance(properties, Mapping):
        raise TooMuch
    known = {name: maker.make(part) for name, part in properties.items()}
    more = schema.get("additionalProperties", True)
    others = None if more is True else (lambda value: False) if more is False else maker.make(more)

    def check(value: Any) -> bool:
        if not isinstance(value, dict):
            return True
        for name, part in value.items():
            fits = known.get(name, others)
            if fits is not None and not fits(part):
                return False
        return True

    return check


def _additional(more: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
    if "properties" in schema:
        return lambda value: True
    return _properties({}, schema, maker)


def _required(names: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
    if not isinstance(names, Sequence) or isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TooMuch
    wanted = frozenset(names)
    return lambda value: not isinstance(value, dict) or wanted <= value.keys()


def _items(items: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
    check = maker.make(items)
    return lambda value: not isinstance(value, list) or all(map(check, value))


def _any_of(branches: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
    if not isinstance(branches, Sequence) or not branches:
        raise TooMuch
    known = [maker.make(branch) for branch in branches]
    return lambda value: any(check(value) for check in known)


def _all_of(branches: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
    if not isinstance(branches, Sequence) or not branches:
        raise TooMuch
    known = [maker.make(branch) for branch in branches]
    return lambda value: all(check(value) for check in known)


def _bound(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Mapping[str, Any], Maker], Check]:
    def make(limit: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
        if not _is_number(limit):
            raise TooMuch
        return lambda value: not _is_number(value) or holds(value, limit)

    return make


def _length(
    kind: type[str] | type[list[Any]], holds: Callable[[int, Any], bool]
) -> Callable[[Any, Mapping[str, Any], Maker], Check]:
    def make(limit: Any, schema: Mapping[str, Any], maker: Maker) -> Check:
        if not _is_integer(limit) or limit < 0:
            raise TooMuch
        return lambda value: not isinstance(value, kind) or holds(len(value), limit)

    return make


_KEYWORDS: Mapping[str, Callable[[Any, Mapping[str, Any], Maker], Check]] = {
    "type": _type,
    "$ref": _reference,
    "enum": _enum,
    "const": _const,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "anyOf": _any_of,
    "allOf": _all_of,
    "minimum": _bound(lambda value, limit: value >= limit),
    "maximum": _bound(lambda value, limit: value <= limit),
    "exclusiveMinimum": _bound(lambda value, limit: value > limit),
    "exclusiveMaximum": _bound(lambda value, limit: value < limit),
    "minLength": _length(str, lambda length, limit: length >= limit),
    "maxLength": _length(str, lambda length, limit: length <= limit),
    "minItems": _length(list, lambda length, limit: length >= limit),
    "maxItems": _length(list, lambda length, limit: length <= limit),
}
