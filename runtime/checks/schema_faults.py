"""Every fault of a resource's fields, each at its place; imported only when there is one.

References, values that were reported already and expressions are values of their own here: a reference in the wrong
place and a faulty expression are other checks' findings, and an expression is judged by its type alone.
"""

import re
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from runtime.checks.findings import Findings, nearest
from runtime.manifest import Broken, Expression, Mapping, Ref, Sequence, Source
from runtime.registry import Entry
from runtime.resource_set import Resource

_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
_TYPES = {"string": str, "array": list, "object": dict}


def report_faults(resource: Resource, entry: Entry, findings: Findings) -> None:
    """Report what is wrong with a resource's fields, and silence what stands below it."""
    fields = {key: value for key, value in resource.body.items() if key not in ("kind", "metadata")}
    for error in _leaves(_VALIDATOR(entry.shape.schema).iter_errors(fields)):
        _report(resource, error, findings)


def _is_type(name: str, value: Any) -> bool:
    if isinstance(value, Expression):
        return value.type in ("any", name) or (name == "number" and value.type == "integer")
    if name == "integer":  # a whole number is written as one: 5, not 5.0
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "boolean":
        return isinstance(value, bool)
    if name == "null":
        return value is None
    return isinstance(value, _TYPES[name])


_CHECKER = Draft202012Validator.TYPE_CHECKER.redefine_many(
    {name: lambda _, value, name=name: _is_type(name, value) for name in _WORDS}
)
_STRUCTURAL = frozenset(("type", "anyOf", "oneOf", "allOf", "$ref", "$dynamicRef"))


def _for_values(check: Any) -> Any:
    """A keyword's check that leaves alone what has no value yet."""

    def checked(validator: Any, limit: Any, value: Any, schema: Any) -> Any:
        return () if isinstance(value, (Expression, Ref, Broken)) else check(validator, limit, value, schema)

    return checked


_KEYWORDS = {
    keyword: check if keyword in _STRUCTURAL else _for_values(check)
    for keyword, check in Draft202012Validator.VALIDATORS.items()
}
_VALIDATOR: Any = extend(Draft202012Validator, _KEYWORDS, type_checker=_CHECKER)


def _leaves(errors: Iterator[ValidationError]) -> Iterator[ValidationError]:
    """Errors without those of alternatives: a value is judged by the alternative whose type it has."""
    for error in errors:
        if error.validator not in ("anyOf", "oneOf") or not error.context:
            yield error
            continue
        branches: dict[Any, list[ValidationError]] = {}
        for inner in error.context:
            branches.setdefault(inner.relative_schema_path[0], []).append(inner)
        fitting = [
            found
            for found in branches.values()
            if not any(inner.validator == "type" and not inner.relative_path for inner in found)
        ]
        if fitting:
            yield from _leaves(iter(fitting[0]))
        else:
            wanted = [
                inner.validator_value for found in branches.values() for inner in found if not inner.relative_path
            ]
            error.validator, error.validator_value = "type", wanted
            yield error


def _report(resource: Resource, error: ValidationError, findings: Findings) -> None:
    value = error.instance
    if isinstance(value, (Ref, Broken)) or findings.is_silenced(value):
        return
    path = list(error.absolute_path)
    if error.validator == "required":
        _report_missing(resource, error, path, findings)
    elif error.validator == "additionalProperties":
        _report_unknown(resource, error, path, findings)
    elif error.validator == "type":
        _report_type(resource, error, path, findings)
    elif not isinstance(value, Expression):
        place = _place(resource, path)
        findings.report(resource, place, "SCHEMA_VALUE", _value_message(path, error), _value_hint(error))


def _report_missing(resource: Resource, error: ValidationError, path: list[Any], findings: Findings) -> None:
    """One finding for each field that is missing, unless an unknown field beside it is what was meant."""
    present: Any = error.instance
    match = re.match(r"'(.*)' is a required property", error.message)
    name = match[1] if match else ""
    properties = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    strangers = [key for key in present if key not in properties and key not in ("kind", "metadata")]
    if any(nearest(stranger, [name]) for stranger in strangers):
        return
    container = _value(resource, path)
    place = resource.source.start_of(container.start)
    what = str(properties.get(name, {}).get("description", "")).rstrip(".")
    findings.report(resource, place, "SCHEMA_REQUIRED", f'the field "{name}" is missing', what or None)


def _report_unknown(resource: Resource, error: ValidationError, path: list[Any], findings: Findings) -> None:
    container = _value(resource, path)
    known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    for key in error.instance:
        if key in known or (not path and key in ("kind", "metadata")):
            continue
        hint = nearest(key, known) or f"known fields: {', '.join(sorted(known))}"
        if key == "name" and not path:
            hint = 'did you mean "metadata.name"?'
        where = f"{_shown(path)} has" if path else f'"{resource.kind}" has'
        findings.report(resource, container.places[key][0], "SCHEMA_UNKNOWN_FIELD", f'{where} no field "{key}"', hint)
        findings.silence(error.instance[key])


def _report_type(resource: Resource, error: ValidationError, path: list[Any], findings: Findings) -> None:
    value = error.instance
    place = _place(resource, path)
    wanted = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    names = " or ".join(dict.fromkeys(_WORDS[name] for name in _flat(wanted)))
    if isinstance(value, Expression):
        found = _WORDS.get(value.type, value.type)
        message = f"{_shown(path)} takes {names}, and the expression gives {found}"
        findings.report(resource, place, "CEL_TYPE", message, _cel_hint(wanted, value))
        return
    message = f"{_shown(path)} takes {names}, not {_described(value)}"
    findings.report(resource, place, "SCHEMA_TYPE", message, _type_hint(wanted, value, place, resource.source))
    findings.silence(value) if isinstance(value, (Mapping, Sequence)) else None


def _flat(wanted: list[Any]) -> Iterator[str]:
    for name in wanted:
        if isinstance(name, list):
            yield from _flat(name)
        elif name in _WORDS:
            yield name


def _cel_hint(wanted: list[Any], value: Expression) -> str | None:
    if "string" in wanted and value.type in ("integer", "number", "boolean"):
        return 'convert it with "string(...)"'
    if "integer" in wanted and value.type in ("number", "string"):
        return 'convert it with "int(...)"'
    return None


def _type_hint(wanted: list[Any], value: Any, place: int, source: Source) -> str | None:
    if "string" in wanted and isinstance(value, (int, float)):
        written = re.match(r"[\w.+:~-]+", source.text[place:])
        return f'quote it: "{written[0] if written else value}"'
    if "string" in wanted and value is None:
        return 'write "" for an empty text, or leave the field out'
    if value is None:
        return "leave the field out, or give it a value"
    if "integer" in wanted and isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return f"write {value} without quotes"
    if "array" in wanted and isinstance(value, str):
        return "write a list: [...]"
    return None


def _described(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "nothing"
    if isinstance(value, (int, float)):
        return f"the number {value}" if len(str(value)) < 40 else "a number"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else "text"


def _value_message(path: list[Any], error: ValidationError) -> str:
    limit, value = error.validator_value, error.instance
    name = _shown(path)
    texts = {
        "enum": lambda: f"{name} cannot be {_quoted(value)}",
        "const": lambda: f"{name} has to be {_quoted(limit)}",
        "minimum": lambda: f"{name} has to be {limit} or more, not {value}",
        "maximum": lambda: f"{name} has to be {limit} or less, not {value}",
        "exclusiveMinimum": lambda: f"{name} has to be more than {limit}, not {value}",
        "exclusiveMaximum": lambda: f"{name} has to be less than {limit}, not {value}",
        "minLength": lambda: f"{name} may not be empty" if limit == 1 else f"{name} has to have {limit} characters",
        "maxLength": lambda: f"{name} has more than {limit} characters",
        "minItems": lambda: f"{name} may not be empty" if limit == 1 else f"{name} has to have {limit} elements",
        "maxItems": lambda: f"{name} has more than {limit} elements",
        "minProperties": lambda: f"{name} may not be empty",
        "pattern": lambda: f'{name} does not have the form "{limit}"',
    }
    make = texts.get(str(error.validator))
    return make() if make else f"{name} does not fit its schema ({error.validator})"


def _value_hint(error: ValidationError) -> str | None:
    if error.validator != "enum":
        return None
    allowed = [str(value) for value in error.validator_value]
    near = nearest(error.instance, allowed) if isinstance(error.instance, str) else None
    return near or f"one of: {', '.join(allowed)}"


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else _described(value)


def _shown(path: list[Any]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f'"{text.lstrip(".")}"' if text else "the resource"


def _value(resource: Resource, path: list[Any]) -> Any:
    value: Any = resource.body
    for step in path:
        value = value[step]
    return value


def _place(resource: Resource, path: list[Any]) -> int:
    if not path:
        return resource.body.start
    container = _value(resource, path[:-1])
    place = container.places[path[-1]]
    return place[1] if isinstance(place, tuple) else int(place)
