"""How findings speak of values and of what a JSON Schema says of them: our words, one line, no Python repr.

Errors of the jsonschema library are read by their attributes, so nothing here imports it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from runtime.diagnostics.credentials import starred

WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
"""The types of JSON Schema in words."""

_LONGEST = 500
_LONGEST_VALUE = 80


def one_line(text: str) -> str:
    """The text on one line, with escapes for what cannot be printed, without credentials, cut where it is very long."""
    text = starred(text)
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return shown if shown.isprintable() else "".join(_printed(character) for character in shown)


def _printed(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def quoted(value: Any) -> str:
    """A value as a message names it: text in quotes, anything else described."""
    if not isinstance(value, str):
        return described(value)
    text = str(value)
    return f'"{text}"' if len(text) <= _LONGEST_VALUE else f'"{text[:_LONGEST_VALUE]}…"'


def described(value: Any) -> str:
    """What kind of value this is; a number is shown."""
    if value is None:
        return "an empty value"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"the number {value}" if -1e30 < value < 1e30 else "a number"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, (list, tuple)) else "text"


def listed(names: Iterable[Any]) -> str:
    """`text or a list` for the types `string` and `array`."""
    return " or ".join(dict.fromkeys(WORDS.get(str(name), str(name)) for name in names))


def leaves(errors: Iterable[Any]) -> Iterator[Any]:
    """Errors without those of alternatives: a value is judged by the alternative whose type it has.

    Where it has none of their types, the error is one of type, its `validator_value` the types that there are.
    """
    for error in errors:
        if error.validator not in ("anyOf", "oneOf") or not error.context:
            yield error
            continue
        branches: dict[Any, list[Any]] = {}
        for inner in error.context:
            branches.setdefault(inner.relative_schema_path[0], []).append(inner)
        fitting = [found for found in branches.values() if not any(map(_types_at_root, found))]
        if fitting:
            yield from leaves(fitting[0])
        else:
            error.validator_value = [_types_at_root(inner) for found in branches.values() for inner in found]
            error.validator = "type"
            yield error


def _types_at_root(error: Any) -> list[Any]:
    """The types that an alternative takes, where its error is that the value as a whole has another one."""
    if error.relative_path:
        return []
    if error.validator == "enum" and not isinstance(error.instance, str):
        return ["string"] if all(isinstance(allowed, str) for allowed in error.validator_value) else []
    return [error.validator_value] if error.validator == "type" else []


def types_of(error: Any) -> list[str]:
    """The types that an error of `type` asks for."""
    return list(dict.fromkeys(_flat(error.validator_value)))


def _flat(wanted: Any) -> Iterator[str]:
    if isinstance(wanted, list):
        for name in wanted:
            yield from _flat(name)
    elif isinstance(wanted, str):
        yield wanted


def explained(error: Any, name: str, *, is_secret: bool = False) -> str:
    """A leaf error about the value that is called `name`; a secret value is not shown."""
    limit, value = error.validator_value, error.instance
    shown = "the value" if is_secret else quoted(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    found = "a number" if is_secret and is_number else described(value)
    number = f", not {value}" if not is_secret and is_number else ""
    texts = {
        "type": lambda: f"{name} has to be {listed(types_of(error))}, not {found}",
        "enum": lambda: f"{name} cannot be {shown}",
        "const": lambda: f"{name} has to be {quoted(limit)}",
        "minimum": lambda: f"{name} has to be {_number(limit)} or more{number}",
        "maximum": lambda: f"{name} has to be {_number(limit)} or less{number}",
        "exclusiveMinimum": lambda: f"{name} has to be more than {_number(limit)}{number}",
        "exclusiveMaximum": lambda: f"{name} has to be less than {_number(limit)}{number}",
        "multipleOf": lambda: f"{name} has to be a multiple of {_number(limit)}{number}",
        "minLength": lambda: _at_least(name, limit, "characters"),
        "maxLength": lambda: f"{name} may have {limit} characters at most",
        "minItems": lambda: _at_least(name, limit, "elements"),
        "maxItems": lambda: f"{name} may have {limit} elements at most",
        "minProperties": lambda: _at_least(name, limit, "parts"),
        "maxProperties": lambda: f"{name} may have {limit} parts at most",
        "uniqueItems": lambda: f"{name} may not have the same element twice",
        "pattern": lambda: f'{name} has to have the form "{limit}"',
        "format": lambda: f'{name} has to be a "{limit}"',
        "required": lambda: f'{name} needs "{missing(error)}"',
        "additionalProperties": lambda: f"{name} has a part that it may not have",
    }
    make = texts.get(str(error.validator))
    return make() if make else f'{name} does not fit "{error.validator}" of its schema'


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _at_least(name: str, limit: int, what: str) -> str:
    return f"{name} may not be empty" if limit == 1 else f"{name} has to have {limit} {what} at least"


def missing(error: Any) -> str:
    """The name that an error of `required` is about: the library puts it into its message alone."""
    found = str(error.message).rpartition(" is a required property")[0]
    return found[1:-1] if found[:1] in ("'", '"') else found


def path_text(path: Sequence[str | int]) -> str:
    """`toolProviders[0].prefix` for the steps of a path."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.lstrip(".")
