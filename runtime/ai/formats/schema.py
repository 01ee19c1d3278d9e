"""What all formats share: the arguments as one well-formed object schema."""

from collections.abc import Mapping
from typing import Any

from runtime.ai.formats.format import Schema
from runtime.ai.formats.report import Note


def to_object(schema: Any, note: Note) -> Schema:
    """The schema as an object schema that names its properties and its required ones.

    The rules of the mission's `processJsonSchema`: nothing, or no object, is the empty object schema; an object schema
    keeps what it says; anything else is taken for an object, since arguments are one.
    """
    if not isinstance(schema, Mapping):
        return {"type": "object", "properties": {}, "required": []}
    if schema.get("type") not in ("object", None):
        note("/type", "rewritten", "arguments are an object")
    return {
        **schema,
        "type": "object",
        "properties": schema.get("properties") or {},
        "required": schema.get("required") or [],
    }
