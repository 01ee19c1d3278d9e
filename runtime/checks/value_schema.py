"""A value against a schema that a manifest declares; imported only where the fast answer was not yes.

A manifest that is only being validated is not trusted: no reference is followed out of the schema, and neither a
pattern nor a long list takes more than linear time.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from runtime.expressions import ExpressionError, Scope

_LONGEST_SEARCHED = 20
"""Characters in which a pattern is looked for that only a backtracking search understands."""


def find_errors(schema: dict[str, Any], value: Any) -> list[ValidationError]:
    """What is wrong with a value. Raises LookupError or RecursionError for references that lead nowhere or to
    themselves, ValueError or ArithmeticError for numbers that no keyword can be applied to."""
    nowhere: Registry[Any] = Registry()  # the library's own would fetch what an address names
    try:
        return list(_VALIDATOR(schema, registry=nowhere).iter_errors(value))
    except Unresolvable as error:
        raise LookupError(str(error)) from error


def _is_whole(_: Any, value: Any) -> bool:
    """A whole number is written as one, here as in every field: 5, not 5.0."""
    return isinstance(value, int) and not isinstance(value, bool)


def _check_pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _holds(pattern, value):
        yield ValidationError("")


def _holds(pattern: str, text: str) -> bool:
    try:
        return bool(_MATCHES.evaluate("text.matches(pattern)", {"text": text, "pattern": pattern}))
    except ExpressionError:  # a pattern with lookaround or references back, or a text with a NUL
        return len(text) > _LONGEST_SEARCHED or re.search(pattern, text) is not None


def _check_unique(validator: Any, is_unique: bool, value: Any, schema: Any) -> Iterator[ValidationError]:
    if is_unique and isinstance(value, list):
        written = [msgspec.json.encode(_plain(item), order="deterministic") for item in value]
        if len(set(written)) != len(written):
            yield ValidationError("")


def _plain(value: Any) -> Any:
    """A value in which numbers that are equal are written alike."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


_MATCHES = Scope({"text": "string", "pattern": "string"})
_VALIDATOR: Any = extend(
    Draft202012Validator,
    {"pattern": _check_pattern, "uniqueItems": _check_unique},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_whole),
)
