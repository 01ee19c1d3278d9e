"""OpenAI's strict form, for a schema that can be put into it without loss.

The rules are those of OpenAI's guide to structured outputs: every object closed and every property required, so that an
optional one takes null, which the check of the arguments leaves out again on the way back.
"""

from typing import Any

from runtime.ai.formats.format import Schema
from runtime.ai.formats.schema.keywords import types_of, words
from runtime.ai.formats.schema.phrases import describe, write_default

_READ = words(
    "type description enum const properties required additionalProperties items anyOf pattern format minimum maximum"
    " exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems"
)
_NOTES = words("title default examples deprecated readOnly writeOnly $comment")
_FORMATS = words("date-time time date duration email hostname ipv4 ipv6 uuid")
_DEEPEST = 10
_MOST_PROPERTIES = 5000
_NULL = {"type": "null"}


def make_strict(flat: Schema) -> Schema | None:
    """The object schema in strict form; None where that would lose something or refuse a valid call."""
    strict = _Strict()
    try:
        fresh = strict.part({word: value for word, value in flat.items() if word != "$defs"}, 0)
        if "$defs" in flat:
            fresh["$defs"] = {name: strict.part(part, 1) for name, part in flat["$defs"].items()}
    except _LossError:
        return None
    return fresh if strict.properties <= _MOST_PROPERTIES else None


class _LossError(Exception):
    """The schema says something that the strict form has no place for."""


class _Strict:
    def __init__(self) -> None:
        self.properties = 0

    def part(self, schema: Any, depth: int) -> Schema:
        if not isinstance(schema, dict) or depth > _DEEPEST:
            raise _LossError
        notes = [write_default(schema["default"])] if schema.get("default") is not None else []
        ruling = {word: value for word, value in schema.items() if word not in _NOTES}
        if "$ref" in ruling:
            return self._refer(ruling, notes)
        if not ruling.keys() <= _READ or not _has_type(ruling) or ruling.get("format", "date") not in _FORMATS:
            raise _LossError
        fresh = dict(ruling)
        if "anyOf" in ruling:
            fresh["anyOf"] = [self.part(branch, depth) for branch in ruling["anyOf"]]
        if "array" in types_of(ruling) or "items" in ruling:
            fresh["items"] = self.part(ruling.get("items"), depth + 1)
        if "object" in types_of(ruling) or "properties" in ruling:
            self._close(ruling, fresh, depth)
        return describe(fresh, *notes)

    def _refer(self, ruling: Schema, notes: list[str]) -> Schema:
        if not ruling.keys() <= {"$ref", "description"}:
            raise _LossError
        alone = {"$ref": ruling["$ref"]}
        if "description" not in ruling and not notes:
            return alone
        around = {word: value for word, value in ruling.items() if word != "$ref"}
        return describe({"anyOf": [alone], **around}, *notes)

    def _close(self, ruling: Schema, fresh: Schema, depth: int) -> None:
        properties = ruling.get("properties", {})
        if ruling.get("additionalProperties", True) is not False:
            raise _LossError
        self.properties += len(properties)
        required = ruling.get("required", ())
        inner = {key: self.part(schema, depth + 1) for key, schema in properties.items()}
        fresh["properties"] = {key: schema if key in required else _take_null(schema) for key, schema in inner.items()}
        fresh["required"] = list(properties)


def _has_type(schema: Schema) -> bool:
    return not {"type", "anyOf", "enum", "const"}.isdisjoint(schema)


def _take_null(schema: Schema) -> Schema:
    types = types_of(schema)
    if "null" in types or _NULL in schema.get("anyOf", ()) or ("enum" in schema and None in schema["enum"]):
        return schema
    if "anyOf" in schema and not types:
        return {**schema, "anyOf": [*schema["anyOf"], _NULL]}
    if "$ref" in schema or "const" in schema or "anyOf" in schema:
        inside = {word: value for word, value in schema.items() if word != "description"}
        outside = {"description": schema["description"]} if "description" in schema else {}
        return {"anyOf": [inside, _NULL], **outside}
    fresh = {**schema, "type": [*types, "null"]} if types else dict(schema)
    if "enum" in schema:
        fresh["enum"] = [*schema["enum"], None]
    return fresh
