"""Two schemas as one: `both` where a value must fit the two, `either` where it must fit one of them."""

from collections.abc import Callable, Sequence
from typing import Any

from runtime.ai.formats.encoding import write_json
from runtime.ai.formats.format import Schema
from runtime.ai.formats.schema.equality import distinct, identity, same
from runtime.ai.formats.schema.keywords import types_of, words
from runtime.ai.formats.schema.phrases import describe

Lose = Callable[[str, Any], None]
"""Told of a keyword and its value that the merged schema has no place for; without it the schema accepts more."""

_LARGER = words("minimum exclusiveMinimum minLength minItems minProperties")
_SMALLER = words("maximum exclusiveMaximum maxLength maxItems maxProperties")
_FIRST = words("title default examples example deprecated readOnly writeOnly $comment discriminator")
_UNITS = {"if": ("then", "else"), "contains": ("minContains", "maxContains")}
_LED = words("then else minContains maxContains")
_OF_OBJECTS = words("properties additionalProperties patternProperties")
_CONSTANT_WORDS = words("type const enum description title default")


def both(one: Any, other: Any, lose: Lose) -> Any:
    """A schema for what fits the two; a keyword of `other` that it has no place for goes to `lose` and is left out.

    Two descriptions become one text. Where a part is closed, the properties of the other part stay open: authors who
    close the parts of an `allOf` mean the whole.
    """
    if one is other or other == {} or one is False:
        return one
    if one == {} or other is False:
        return other
    fresh = {word: value for word, value in one.items() if word not in _LED or _is_led(word, one)}
    for word, value in other.items():
        if word in _OF_OBJECTS or word in _LED:
            continue
        if word in _UNITS:
            _both_units(word, other, fresh, lose)
        elif word not in fresh:
            fresh[word] = value
        elif not same(fresh[word], value):
            fresh[word] = _both_values(word, fresh[word], value, lose)
    if not _OF_OBJECTS.isdisjoint(other):
        _both_objects(other, fresh)
    return fresh


def either(schemas: Sequence[Any]) -> Any:
    """A schema for what fits at least one; constants become one enumeration."""
    possible = distinct([schema for schema in schemas if schema is not False])
    if not possible:
        return False
    if len(possible) == 1:
        return possible[0]
    if all(map(_is_constant, possible)):
        return _enumerate(possible)
    return {"anyOf": possible}


def _is_led(word: str, schema: Schema) -> bool:
    return any(lead in schema and word in led for lead, led in _UNITS.items())


def _both_units(lead: str, other: Schema, fresh: Schema, lose: Lose) -> None:
    unit = {word: other[word] for word in (lead, *_UNITS[lead]) if word in other}
    if lead not in fresh:
        fresh.update(unit)
    elif not same({word: fresh[word] for word in (lead, *_UNITS[lead]) if word in fresh}, unit):
        lose(lead, other[lead])


def _both_values(word: str, one: Any, other: Any, lose: Lose) -> Any:
    if word in _LARGER:
        return max(one, other)
    if word in _SMALLER:
        return min(one, other)
    if word == "description":
        return one if other in one else other if one in other else f"{one}\n{other}"
    if word == "required":
        return list(dict.fromkeys([*one, *other]))
    if word == "uniqueItems":
        return True
    if word == "type":
        return _both_types(one, other, lose)
    if word == "enum":
        allowed = set(map(identity, other))
        shared = [value for value in one if identity(value) in allowed]
        if shared:
            return shared
    if word in ("items", "propertyNames"):
        return _both_parts(one, other)
    if word == "allOf":
        return [*one, *other]
    if word == "dependentRequired":
        return {key: list(dict.fromkeys([*one.get(key, []), *other.get(key, [])])) for key in {**one, **other}}
    if word not in _FIRST:
        lose(word, other)
    return one


def _both_parts(one: Any, other: Any) -> Any:
    """A schema inside of two merged ones: merged too, or else both as they are."""
    lost: list[str] = []
    merged = both(one, other, lambda word, value: lost.append(word))
    return {"allOf": [one, other]} if lost else merged


def _both_types(one: Any, other: Any, lose: Lose) -> Any:
    first, second = types_of({"type": one}), types_of({"type": other})
    shared = [name for name in first if name in second or (name == "integer" and "number" in second)]
    if "integer" in second and "number" in first and "integer" not in shared:
        shared.append("integer")
    if not shared:
        lose("type", other)
        return one
    return shared[0] if len(shared) == 1 else shared


def _both_objects(other: Schema, fresh: Schema) -> None:
    for word in ("properties", "patternProperties"):
        if word in other:
            mine, theirs = fresh.get(word, {}), other[word]
            merged = {
                key: _both_parts(schema, theirs[key]) if key in theirs else schema for key, schema in mine.items()
            }
            fresh[word] = {**merged, **{key: schema for key, schema in theirs.items() if key not in mine}}
    if "additionalProperties" in other:
        mine, theirs = fresh.get("additionalProperties", True), other["additionalProperties"]
        if mine in (True, {}):
            fresh["additionalProperties"] = theirs
        elif theirs not in (True, {}):
            fresh["additionalProperties"] = _both_parts(mine, theirs)


def _is_constant(schema: Any) -> bool:
    return isinstance(schema, dict) and ("const" in schema or "enum" in schema) and schema.keys() <= _CONSTANT_WORDS


def _enumerate(schemas: Sequence[Schema]) -> Schema:
    values: list[Any] = []
    sentences = []
    for schema in schemas:
        own = [schema["const"]] if "const" in schema else schema["enum"]
        values += own
        if "description" in schema:
            sentences.append(f"{write_json(own)[1:-1]}: {schema['description']}")
    types = list(dict.fromkeys(name for schema in schemas for name in types_of(schema)))
    is_typed = all("type" in schema for schema in schemas)
    named: Schema = {"type": types[0] if len(types) == 1 else types} if is_typed else {}
    return describe({**named, "enum": distinct(values)}, *sentences)
