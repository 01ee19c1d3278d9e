"""Enumerations as Gemini reads them: strings that are not empty, and numbers, each under their own type."""

from typing import Any

from runtime.ai.formats.format import Schema


def restrict(values: list[Any], types: tuple[str, ...]) -> tuple[list[Schema], bool]:
    """Schemas, one for each JSON type, for a list of constants; and whether they say all that the list says.

    `types` are the types that the schema around allows, none for all; a constant of another type can never be sent.
    """
    groups: dict[str, list[Any]] = {}
    for value in values:
        kind = _kind_of(value, types)
        if kind is not None:
            groups.setdefault(kind, []).append(value)
    schemas = [_restrict_one(kind, group) for kind, group in groups.items()]
    is_exact = all("enum" in schema or _is_exhausted(schema, groups) for schema in schemas)
    return schemas, is_exact


def _kind_of(value: Any, types: tuple[str, ...]) -> str | None:
    if isinstance(value, bool):
        kinds = ["boolean"]
    elif isinstance(value, (int, float)):
        kinds = ["integer", "number"] if value == value // 1 else ["number"]
    elif isinstance(value, str):
        kinds = ["string"]
    elif value is None:
        kinds = ["null"]
    else:
        kinds = ["object" if isinstance(value, dict) else "array"]
    if not types:
        return kinds[-1]
    return next((kind for kind in kinds if kind in types), None)


def _restrict_one(kind: str, values: list[Any]) -> Schema:
    if kind == "number" and all(isinstance(value, int) for value in values):
        kind = "integer"
    if kind == "array":
        return {"type": "array", "items": {}}
    if kind in ("integer", "number") or (kind == "string" and "" not in values):
        return {"type": kind, "enum": values}
    return {"type": kind}


def _is_exhausted(schema: Schema, groups: dict[str, list[Any]]) -> bool:
    if schema["type"] == "boolean":
        return True in groups["boolean"] and False in groups["boolean"]
    return bool(schema["type"] == "null")
