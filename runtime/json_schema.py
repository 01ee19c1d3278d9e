"""Whether what a manifest gives as a JSON Schema (2020-12) is one, and where it is none."""

from collections.abc import Mapping
from typing import Any

_TYPES = frozenset(("string", "integer", "number", "boolean", "object", "array", "null"))
_TEXTS = frozenset(("title", "description", "format", "$comment"))
_ANYTHING = frozenset(("default", "const", "examples"))

_MOST_FAULTS = 1000
"""Of one schema: whoever mends that many looks again."""


def find_schema_faults(schema: Any) -> list[tuple[tuple[str | int, ...], str]]:
    """The path of each faulty value with what is wrong with it; nothing for a good schema.

    The jsonschema library decides, and is imported only for a schema that is not plainly good.
    """
    if _is_plainly_good(schema):
        return []
    from jsonschema import Draft202012Validator

    from runtime.diagnostics.wording import explained, leaves, path_text

    faults: dict[tuple[str | int, ...], str] = {}
    for error in leaves(Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema)):
        path = tuple(error.absolute_path)
        name = f'"{path_text(path)}"' if path else "it"
        faults.setdefault(path, f"this is no JSON Schema: {explained(error, name)}")
        if len(faults) == _MOST_FAULTS:
            break
    return list(faults.items())


def _is_plainly_good(schema: Any, depth: int = 20) -> bool:
    """Whether a schema has only the everyday keywords, each as it has to be."""
    if not isinstance(schema, Mapping) or depth == 0:
        return isinstance(schema, bool)
    return all(_is_good_keyword(keyword, value, depth) for keyword, value in schema.items())


def _is_good_keyword(keyword: str, value: Any, depth: int) -> bool:
    if keyword == "type":
        return isinstance(value, str) and value in _TYPES
    if keyword == "properties":
        return isinstance(value, Mapping) and all(_is_plainly_good(part, depth - 1) for part in value.values())
    if keyword in ("items", "additionalProperties"):
        return _is_plainly_good(value, depth - 1)
    if keyword == "required":
        return (
            isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)
        )
    if keyword == "enum":
        return isinstance(value, list) and bool(value)
    if keyword in ("minimum", "maximum"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return keyword in _ANYTHING or (keyword in _TEXTS and isinstance(value, str))
