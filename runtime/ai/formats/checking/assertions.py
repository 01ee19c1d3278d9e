"""What each keyword of JSON Schema 2020-12 demands of a value, and the words for a value that does not comply.

Numbers, texts and types here; `applicators` has the keywords that hold other schemas. Formats are not asserted, as the
standard has it by default.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

from runtime.ai.formats.checking.matching import matches
from runtime.ai.formats.checking.validation import Check, Fault, Spot, Validation
from runtime.ai.formats.encoding import write_json
from runtime.ai.formats.schema.equality import identity, same
from runtime.ai.formats.schema.phrases import count

_SHOWN = 80
PER_STEP = 64  # values compared in the time that a step takes
_NOUNS = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


def show(value: Any) -> str:
    """A value as JSON, cut where it is long."""
    return write_json(value, _SHOWN)


def is_type(value: Any, name: str) -> bool:
    """Whether a JSON value is of a type; 1.0 is an integer, and `true` is no number."""
    if name == "integer":
        is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return is_whole and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, _CLASSES[name])


_CLASSES: dict[str, Any] = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}


def _type(validation: Validation, rule: Any, spot: Spot, schema: dict[str, Any]) -> Iterator[Fault]:
    names = [rule] if isinstance(rule, str) else rule
    if not any(is_type(spot.value, name) for name in names):
        nouns = " or ".join(_NOUNS[name] for name in names)
        yield Fault(spot.at, f"must be {nouns}, found {show(spot.value)}", "type")


def _enum(validation: Validation, rule: Any, spot: Spot, schema: dict[str, Any]) -> Iterator[Fault]:
    validation.count(len(rule) // PER_STEP)
    is_known = spot.value in rule  # fast, and takes 1 for true
    if not is_known or not any(same(spot.value, choice) for choice in rule):
        shown = ", ".join(map(show, rule[:20])) + (", …" if len(rule) > 20 else "")
        yield Fault(spot.at, f"must be one of {shown}, found {show(spot.value)}", "enum")


def _const(validation: Validation, rule: Any, spot: Spot, schema: dict[str, Any]) -> Iterator[Fault]:
    if not same(spot.value, rule):
        yield Fault(spot.at, f"must be {show(rule)}, found {show(spot.value)}", "const")


def _number(word: str, complies: Callable[[Any, Any], bool], text: str) -> Check:
    def check(validation: Validation, rule: Any, spot: Spot, schema: dict[str, Any]) -> Iterator[Fault]:
        if is_type(spot.value, "number") and not complies(spot.value, rule):
            yield Fault(spot.at, f"must be {text} {show(rule)}, found {show(spot.value)}", word)

    return check


def _is_multiple(value: Any, step: Any) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    try:
        quotient = value / step
    except OverflowError:
        return True
    return math.isinf(quotient) or math.isclose(quotient, round(quotient), rel_tol=1e-12, abs_tol=1e-12)


def _count(word: str, kind: str, complies: Callable[[int, int], bool], text: str, noun: str) -> Check:
    def check(validation: Validation, rule: Any, spot: Spot, schema: dict[str, Any]) -> Iterator[Fault]:
        if is_type(spot.value, kind) and not complies(len(spot.value), rule):
            yield Fault(spot.at, f"must have {text} {count(rule, noun)}, found {len(spot.value)}", word)

    return check


def _pattern(validation: Validation, rule: Any, spot: Spot, schema: dict[str, Any]) -> Iterator[Fault]:
    if isinstance(spot.value, str) and matches(rule, spot.value) is False:
        yield Fault(spot.at, f"must match the regular expression {rule}, found {show(spot.value)}", "pattern")


def _unique(validation: Validation, rule: Any, spot: Spot, schema: dict[str, Any]) -> Iterator[Fault]:
    if rule and isinstance(spot.value, list) and len(set(map(identity, spot.value))) < len(spot.value):
        yield Fault(spot.at, "must not have the same member twice", "uniqueItems")


def _at_least(value: Any, limit: Any) -> bool:
    return bool(value >= limit)


def _at_most(value: Any, limit: Any) -> bool:
    return bool(value <= limit)


ASSERTIONS: dict[str, Check] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _number("minimum", _at_least, "at least"),
    "maximum": _number("maximum", _at_most, "at most"),
    "exclusiveMinimum": _number("exclusiveMinimum", lambda value, limit: bool(value > limit), "greater than"),
    "exclusiveMaximum": _number("exclusiveMaximum", lambda value, limit: bool(value < limit), "less than"),
    "multipleOf": _number("multipleOf", _is_multiple, "a multiple of"),
    "minLength": _count("minLength", "string", _at_least, "at least", "character"),
    "maxLength": _count("maxLength", "string", _at_most, "at most", "character"),
    "minItems": _count("minItems", "array", _at_least, "at least", "member"),
    "maxItems": _count("maxItems", "array", _at_most, "at most", "member"),
    "minProperties": _count("minProperties", "object", _at_least, "at least", "key"),
    "maxProperties": _count("maxProperties", "object", _at_most, "at most", "key"),
    "pattern": _pattern,
    "uniqueItems": _unique,
}
