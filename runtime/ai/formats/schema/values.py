"""Keywords of JSON Schema 2020-12 that hold plain values, and what to make of a value they do not take."""

import math
from collections.abc import Callable
from typing import Any

from runtime.ai.formats.schema.keywords import TYPES, words

LOST = object()
"""Stands for a value of which nothing can be made."""

_STRINGS = (
    "date",
    "datetime",
    "date-time",
    "uuid",
    "uri",
    "url",
    "email",
    "password",
    "byte",
    "bytes",
    "binary",
    "file",
)
_OTHER_NAMES = {
    **dict.fromkeys(("str", "text", "char", *_STRINGS), "string"),
    **dict.fromkeys(("int", "int32", "int64", "long", "short"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "numeric"), "number"),
    "bool": "boolean",
    **dict.fromkeys(("list", "tuple", "set"), "array"),
    **dict.fromkeys(("dict", "map", "mapping", "record", "struct"), "object"),
    **dict.fromkeys(("none", "nil"), "null"),
}


ANYTHING = ("any", "Any", "mixed", "unknown", "*")
"""What authors write for a type that is none: it says nothing, so nothing is lost with it."""


_NEVER_SENT = ("undefined", "never", "void")
"""What TypeScript has and JSON cannot hold."""


def type_name(name: str) -> str | None:
    """The JSON Schema type that a name stands for, such as `integer` for `int` or `Int`; None for an unknown one."""
    lower = name.strip().lower()
    return lower if lower in TYPES else _OTHER_NAMES.get(lower)


def _types(value: Any) -> Any:
    if isinstance(value, str):
        return value if value in TYPES else type_name(value) or LOST
    if not isinstance(value, list) or not value:
        return LOST
    names = [type_name(name) if isinstance(name, str) else None for name in value if name not in _NEVER_SENT]
    return LOST if None in names or not names else _unless_equal(list(dict.fromkeys(names)), value)


def _string(value: Any) -> Any:
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return value if isinstance(value, str) else LOST


def _names(value: Any) -> Any:
    if not isinstance(value, list):
        return LOST
    return _unless_equal(list(dict.fromkeys(name for name in value if isinstance(name, str))), value)


def _choices(value: Any) -> Any:
    return value if isinstance(value, list) and value else LOST


def _list(value: Any) -> Any:
    return value if isinstance(value, list) else LOST


def _switch(value: Any) -> Any:
    return value if isinstance(value, bool) else LOST


def _number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = int(value) if value.strip().lstrip("+-").isdecimal() else float(value)
        except ValueError:
            return LOST
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and (isinstance(value, int) or math.isfinite(value)) else LOST


def _step(value: Any) -> Any:
    value = _number(value)
    return value if value is not LOST and value > 0 else LOST


def _count(value: Any) -> Any:
    value = _number(value)
    if value is LOST or value < 0 or value != int(value):
        return LOST
    return value if isinstance(value, int) else int(value)


def _names_by_key(value: Any) -> Any:
    if not isinstance(value, dict):
        return LOST
    fixed = {key: _names(names) for key, names in value.items()}
    return _unless_equal({key: names for key, names in fixed.items() if names is not LOST}, value)


def _unless_equal(fixed: Any, value: Any) -> Any:
    return value if fixed == value else fixed


FIXES: dict[str, Callable[[Any], Any]] = {
    "type": _types,
    "enum": _choices,
    "required": _names,
    "dependentRequired": _names_by_key,
    "multipleOf": _step,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(
        words("minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties"), _count
    ),
    "uniqueItems": _switch,
    "pattern": lambda value: value if isinstance(value, str) else LOST,
    **dict.fromkeys(words("title description $comment format contentEncoding contentMediaType"), _string),
    **dict.fromkeys(words("deprecated readOnly writeOnly"), _switch),
    "examples": _list,
}
"""By keyword: the value itself, a repaired one, or `LOST`."""

NOTES_ONLY = words(
    "title description $comment format contentEncoding contentMediaType contentSchema deprecated readOnly writeOnly"
    " examples default example discriminator xml externalDocs"
)
"""Keywords that no call is ever refused for."""
