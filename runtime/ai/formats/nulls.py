"""Nulls that models send for what they would rather leave out, and strict forms make them send."""

from typing import Any

from runtime.ai.formats.checking.faults import find_faults
from runtime.ai.formats.format import Schema

_DEEPEST = 50
_MOST_STEPS = 10_000
_PREFIX = "#/$defs/"


def drop_nulls(schema: Schema, value: Any) -> Any:
    """The value without nulls of optional properties that take none; what no schema names stays as it is."""
    return _Dropping(schema.get("$defs", {})).drop(schema, value, 0)


class _Dropping:
    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._steps = 0

    def drop(self, schema: Any, value: Any, depth: int) -> Any:
        if isinstance(schema, dict) and "$ref" in schema:
            schema = self._definitions.get(schema["$ref"][len(_PREFIX) :])
        self._steps += 1
        if not isinstance(schema, dict) or not isinstance(value, (dict, list)):
            return value
        if depth > _DEEPEST or self._steps > _MOST_STEPS:
            return value
        if isinstance(value, list):
            members = schema.get("items")
            value = value if members is None else [self.drop(members, member, depth + 1) for member in value]
        elif "properties" in schema:
            value = self._drop_from_object(schema, value, depth)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                value = self._choose(schema[word], value, depth)
        return value

    def _drop_from_object(self, schema: Schema, value: dict[str, Any], depth: int) -> dict[str, Any]:
        properties, required = schema["properties"], schema.get("required", ())
        return {
            key: self.drop(properties.get(key), inner, depth + 1)
            for key, inner in value.items()
            if inner is not None or key in required or key not in properties or self._fits(properties[key], None)
        }

    def _choose(self, branches: list[Any], value: Any, depth: int) -> Any:
        """The value as the first branch has it that takes it without its nulls."""
        if any(self._fits(branch, value) for branch in branches):
            return value
        for branch in branches:
            slim = self.drop(branch, value, depth + 1)
            if self._fits(branch, slim):
                return slim
        return value

    def _fits(self, schema: Any, value: Any) -> bool:
        self._steps += 100  # about as much as 100 other steps
        return not find_faults({"allOf": [schema], "$defs": self._definitions}, value)
