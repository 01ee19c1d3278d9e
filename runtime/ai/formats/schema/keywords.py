"""Where JSON Schema 2020-12 has schemas inside schemas, and a walk by those places.

A walk goes by the place of a keyword, never by a key's name: an argument may itself be called `properties` or `$ref`.
"""

from collections.abc import Callable, Iterator
from operator import is_
from typing import Any

from runtime.ai.formats.place import Place


def words(text: str) -> frozenset[str]:
    """The keywords that a text lists."""
    return frozenset(text.split())


ONE = words(
    "items additionalProperties not if then else contains propertyNames unevaluatedItems unevaluatedProperties"
    " contentSchema"
)
"""Keywords whose value is a schema."""

MANY = words("allOf anyOf oneOf prefixItems")
"""Keywords whose value is a list of schemas."""

MAPS = words("properties patternProperties dependentSchemas $defs")
"""Keywords whose value maps names to schemas."""

NESTING = ONE | MANY | MAPS

SAME_VALUE = words("allOf anyOf oneOf not if then else dependentSchemas")
"""Keywords whose schemas judge the very value that the schema around them judges."""

TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")


def children(schema: dict[str, Any], place: Place = None) -> Iterator[tuple[Any, Place]]:
    """The schemas directly inside a well-formed schema, with their places."""
    for word, value in schema.items():
        if word not in NESTING:
            continue
        if word in ONE:
            yield value, (place, word)
        elif word in MANY:
            inner = (place, word)
            for index, branch in enumerate(value):
                yield branch, (inner, str(index))
        else:
            inner = (place, word)
            for key, branch in value.items():
                yield branch, (inner, key)


def rebuild(schema: dict[str, Any], place: Place, change: Callable[[Any, Place], Any]) -> dict[str, Any]:
    """The schema with `change` done to each schema directly inside it; the same object where nothing changed."""
    fresh: dict[str, Any] | None = None
    for word, value in schema.items():
        if word not in NESTING:
            continue
        if word in ONE:
            changed = change(value, (place, word))
        elif word in MANY:
            inner = (place, word)
            changed = [change(branch, (inner, str(index))) for index, branch in enumerate(value)]
            if all(map(is_, changed, value)):
                continue
        else:
            inner = (place, word)
            changed = {key: change(branch, (inner, key)) for key, branch in value.items()}
            if all(map(is_, changed.values(), value.values())):
                continue
        if changed is not value:
            fresh = dict(schema) if fresh is None else fresh
            fresh[word] = changed
    return schema if fresh is None else fresh


def types_of(schema: dict[str, Any]) -> tuple[str, ...]:
    """The types that a well-formed schema names; none where it leaves the type open."""
    named = schema.get("type", ())
    return (named,) if isinstance(named, str) else tuple(named)
