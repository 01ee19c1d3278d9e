"""Arguments of a tool call: reading what the model wrote, and holding it against the tool's own schema."""

from collections.abc import Mapping
from typing import Any

import msgspec


class ArgumentCheck:
    """Checks arguments against one schema; what it needs is made at the first call."""

    def __init__(self) -> None:
        self._validator: Any = None
        self._is_ready = False

    def find_fault(self, schema: Mapping[str, Any], arguments: Any) -> str | None:
        """What keeps the arguments from fitting, in words; None when they fit or the schema itself is at fault."""
        from jsonschema.exceptions import best_match

        if not self._is_ready:
            self._validator = _make_validator(schema)
            self._is_ready = True
        if self._validator is None:
            return None
        fault = best_match(self._validator.iter_errors(arguments))
        if fault is None:
            return None
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault.absolute_path)
        return f"{place.lstrip('.')}: {fault.message}" if place else str(fault.message)


def _make_validator(schema: Mapping[str, Any]) -> Any:
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return None
    return Draft202012Validator(schema, registry=Registry())  # an empty registry: nothing is fetched


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments in the JSON text that a model wrote; no text at all means none.

    Raises `ValueError` with the reason, in words for the model.
    """
    if not text or text.isspace():
        return {}
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ValueError(f"the arguments are no valid JSON: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("the arguments are no JSON object")
    return value
