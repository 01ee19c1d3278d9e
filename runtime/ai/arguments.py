"""Arguments of a tool call: reading what the model wrote, and holding it against the tool's own schema."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from runtime.ai.quick_check import make_check
from runtime.errors import ToolError

LONGEST_MATCHED = 1000
"""Characters of a text that a schema's pattern is tried on; longer ones are left to the server."""

_COSTLY = re.compile(r"\)[*+{]|\)\?[*+{]|[*+}][*+{]")
"""A pattern with a repeated group, which can take exponential time: the server's to check, not ours."""


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments in the JSON text that a model wrote; no text, or null, means none.

    Raises `ToolError` ERR_TOOL_ARGUMENTS, in words that the model can act on.
    """
    if not text or text.isspace():
        return {}
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _fault(f"the arguments are no valid JSON: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _fault("the arguments are no JSON object")
    return value


def _fault(message: str) -> ToolError:
    return ToolError(message, code="ERR_TOOL_ARGUMENTS", hint="call the tool again with one JSON object")


class ArgumentCheck:
    """Holds arguments against one schema: the quick check first, and the JSON Schema library where that says no."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._is_ready = False
        self._quick: Callable[[Any], bool] | None = None
        self._exact: _Exact | None = None

    def accept(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the tool gets them: a null for an optional property that takes none is left out.

        Raises `ToolError` ERR_TOOL_ARGUMENTS that says what does not fit and where. Where the schema itself is at
        fault, or too costly to check, the arguments pass: the server has the last word.
        """
        if not self._is_ready:
            self._quick = make_check(self._schema)
            self._is_ready = True
        if self._quick is not None and self._quick(arguments):
            return arguments
        return self._accept_exactly(tool, arguments)

    def _accept_exactly(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if self._exact is None:
            self._exact = _Exact(self._schema)
        fault = self._exact.find_fault(arguments)
        if fault is None:
            return arguments
        slim: dict[str, Any] = self._exact.drop_nulls(self._schema, arguments)
        if slim != arguments:
            fault = self._exact.find_fault(slim)
            if fault is None:
                return slim
        raise ToolError(
            f'the arguments do not fit the schema of "{tool}": {fault}',
            code="ERR_TOOL_ARGUMENTS",
            hint="call the tool again with arguments that fit",
        )


class _Exact:
    """The JSON Schema library on one schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        from jsonschema import Draft202012Validator, SchemaError
        from jsonschema.validators import extend, validator_for
        from referencing import Registry

        self._validator: Any = None
        draft = validator_for(schema, default=Draft202012Validator)
        try:
            draft.check_schema(schema)
        except (SchemaError, RecursionError):
            return
        if not _is_costly(schema):
            careful = extend(draft, {"pattern": _match_pattern})
            self._validator = careful(schema, registry=Registry())  # an empty registry: nothing is fetched

    def find_fault(self, arguments: Any) -> str | None:
        """What does not fit, in words for the model; None where all fits or the schema cannot be used."""
        if self._validator is None:
            return None
        from jsonschema.exceptions import best_match
        from referencing.exceptions import Unresolvable

        try:
            error = best_match(self._validator.iter_errors(arguments))
        except (Unresolvable, RecursionError, re.error):
            return None
        return None if error is None else _describe(error)

    def drop_nulls(self, schema: Any, value: Any) -> Any:
        """The value without nulls of optional properties that take none, which models send all the time."""
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        if not isinstance(properties, Mapping) or not isinstance(value, dict):
            return value
        required = schema.get("required", ())
        kept = {}
        for name, part in value.items():
            if part is None and name in properties and name not in required and not self._takes_null(properties[name]):
                continue
            kept[name] = self.drop_nulls(properties.get(name), part)
        return kept

    def _takes_null(self, schema: Any) -> bool:
        from referencing.exceptions import Unresolvable

        try:
            return bool(self._validator.evolve(schema=schema).is_valid(None))
        except (Unresolvable, RecursionError, re.error):
            return True


def _match_pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not isinstance(value, str) or len(value) > LONGEST_MATCHED or _COSTLY.search(pattern):
        return
    try:
        fits = re.search(pattern, value)
    except re.error:  # JSON Schema's patterns are JavaScript's
        return
    if not fits:
        yield ValidationError("")


def _is_costly(schema: Any) -> bool:
    """Whether the keys of `patternProperties` cannot be tried: their patterns decide which schema holds."""
    if isinstance(schema, list):
        return any(map(_is_costly, schema))
    if not isinstance(schema, Mapping):
        return False
    patterns = schema.get("patternProperties")
    if isinstance(patterns, Mapping) and any(_COSTLY.search(pattern) for pattern in patterns):
        return True
    return any(map(_is_costly, schema.values()))


def _describe(error: Any) -> str:
    """A fault in words: its place, and what the keyword asks for; the library's own words spell values as Python."""
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path).lstrip(".")
    wanted, value = error.validator_value, error.instance
    if error.validator == "required":
        missing = next((name for name in wanted if name not in value), "")
        words = f'"{missing}" is missing'
    elif error.validator == "type":
        words = f"must be {' or '.join(wanted) if isinstance(wanted, list) else wanted}, and is {_shorten(value)}"
    elif error.validator == "additionalProperties" and wanted is False:
        known = error.schema.get("properties", {})
        extra = ", ".join(f'"{name}"' for name in value if name not in known)
        words = f"takes no property {extra}"
    elif error.validator == "enum":
        words = f"must be one of {_shorten(wanted)}, and is {_shorten(value)}"
    else:
        words = f"must satisfy `{error.validator}`: {_shorten(wanted)}, and is {_shorten(value)}"
    return f"{place}: {words}" if place else words


def _shorten(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else f"{text[:200]}…"
