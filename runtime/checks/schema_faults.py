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

from runtime.checks.findings import Findings
from runtime.diagnostics.nearby import Nearby, nearest
from runtime.diagnostics.wording import WORDS, explained, leaves, listed, missing, path_text, types_of
from runtime.manifest import Broken, Expression, Include, Ref, Source
from runtime.registry import Entry
from runtime.resource_set import Resource

_TYPES = {"string": str, "array": list, "object": dict}


def report_faults(resource: Resource, entry: Entry, findings: Findings) -> None:
    """Report what is wrong with a resource's fields, and silence what stands below it."""
    fields = {key: value for key, value in resource.body.items() if key not in ("kind", "metadata")}
    for error in leaves(_VALIDATOR(entry.shape.schema).iter_errors(fields)):
        if findings.is_full(resource):
            return
        _report(resource, error, findings)


def find_value_faults(
    resource: Resource, entry: Entry, fields: dict[str, Any], *, is_secret: bool
) -> Iterator[tuple[int, str]]:
    """The place of each field that cannot take the value it has got, with what is wrong; a secret is not shown."""
    for error in leaves(_VALIDATOR(entry.shape.schema).iter_errors(fields)):
        path = list(error.absolute_path)
        yield _place(resource, path), explained(error, _shown(path), is_secret=is_secret)


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
    {name: lambda _, value, name=name: _is_type(name, value) for name in WORDS}
)
_STRUCTURAL = frozenset(("type", "anyOf", "oneOf", "allOf", "$ref", "$dynamicRef", "enum"))


def _for_values(check: Any) -> Any:
    """A keyword's check that leaves alone what has no value yet."""

    def checked(validator: Any, limit: Any, value: Any, schema: Any) -> Any:
        return () if isinstance(value, (Expression, Ref, Broken)) else check(validator, limit, value, schema)

    return checked


def _check_enum(validator: Any, allowed: list[Any], value: Any, schema: Any) -> Iterator[ValidationError]:
    """A choice of texts is of type text, whether its schema says so or not; one of text has to be among them."""
    if "type" not in schema and all(isinstance(each, str) for each in allowed) and not _is_type("string", value):
        yield ValidationError("", validator="type", validator_value="string")
    elif not isinstance(value, (Expression, Ref, Broken)) and value not in allowed:
        yield ValidationError("")


def _check_others(validator: Any, allowed: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    """Fields that a mapping does not name, in their order: the library's own check goes through them as a set."""
    if not isinstance(value, dict):
        return
    others = [key for key in value if key not in schema.get("properties", {})]
    if isinstance(allowed, dict):
        for key in others:
            yield from validator.descend(value[key], allowed, path=key)
    elif others and not allowed:
        yield ValidationError("")


_KEYWORDS = {
    keyword: check if keyword in _STRUCTURAL else _for_values(check)
    for keyword, check in Draft202012Validator.VALIDATORS.items()
}
_OWN = {"enum": _check_enum, "additionalProperties": _for_values(_check_others)}
_VALIDATOR: Any = extend(Draft202012Validator, {**_KEYWORDS, **_OWN}, type_checker=_CHECKER)


def _report(resource: Resource, error: ValidationError, findings: Findings) -> None:
    value = error.instance
    path = list(error.absolute_path)
    if isinstance(value, (Ref, Broken)):
        return
    if error.validator == "required":
        _report_missing(resource, error, path, findings)
    elif error.validator == "additionalProperties":
        _report_unknown(resource, error, path, findings)
    elif error.validator == "type":
        _report_type(resource, error, path, findings)
    elif not isinstance(value, Expression):
        message = explained(error, _shown(path))
        place, about = _place(resource, path), str(error.validator)
        findings.report(resource, place, "SCHEMA_VALUE", message, _value_hint(error), about=about)


def _report_missing(resource: Resource, error: ValidationError, path: list[Any], findings: Findings) -> None:
    """One finding for each field that is missing, unless an unknown field beside it is what was meant."""
    present: Any = error.instance
    name = missing(error)
    properties = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    strangers = [key for key in present if key not in properties and key not in ("kind", "metadata")]
    if any(nearest(stranger, [name]) for stranger in strangers):
        return
    container = _value(resource, path)
    place = resource.source.start_of(container.start)
    what = str(properties.get(name, {}).get("description", "")).rstrip(".")
    hint = what[:1].lower() + what[1:] if what[1:2].islower() else what
    findings.report(resource, place, "SCHEMA_REQUIRED", f'the field "{name}" is missing', hint or None)


def _report_unknown(resource: Resource, error: ValidationError, path: list[Any], findings: Findings) -> None:
    container = _value(resource, path)
    known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    nearby, all_known = Nearby(known), f"known fields: {', '.join(sorted(known))}"
    where = f"{_shown(path)} has" if path else f'"{resource.kind}" has'
    strangers = [key for key in error.instance if key not in known and (path or key not in ("kind", "metadata"))]
    for key in strangers:
        if findings.is_cut(container, key):
            continue
        hint = nearby.hint(key) or all_known
        if key == "name" and not path:
            hint = 'did you mean "metadata.name"?'
        message, place = f'{where} no field "{key}"', container.places[key][0]
        findings.report(resource, place, "SCHEMA_UNKNOWN_FIELD", message, hint, about=key)
        findings.cut(resource, container, key)


def _report_type(resource: Resource, error: ValidationError, path: list[Any], findings: Findings) -> None:
    value = error.instance
    place = _place(resource, path)
    wanted = types_of(error)
    about = ",".join(wanted)
    if isinstance(value, Expression):
        found = WORDS.get(value.type, value.type)
        message = f"{_shown(path)} has to be {listed(wanted)}, and the expression gives {found}"
        findings.report(resource, place, "CEL_TYPE", message, _cel_hint(wanted, value), about=about)
        return
    written = _written(value, place, resource.source)
    message = explained(error, _shown(path))
    if written is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        message = f"{_shown(path)} has to be {listed(wanted)}, not the number {written}"
    hint = _type_hint(error, wanted, value, written)
    findings.report(resource, place, "SCHEMA_TYPE", message, hint, about=about)
    if path:
        findings.cut(resource, _value(resource, path[:-1]), path[-1])


def _cel_hint(wanted: list[Any], value: Expression) -> str | None:
    if "string" in wanted and value.type in ("integer", "number", "boolean"):
        return 'convert it with "string(...)"'
    if "integer" in wanted and value.type in ("number", "string"):
        return 'convert it with "int(...)"'
    return None


def _written(value: Any, place: int, source: Source) -> str | None:
    """A number, true or false as the text has it."""
    if not isinstance(value, (int, float)):
        return None
    found = re.compile(r"""["']?([\w.+:~-]{1,40})""").match(source.text, source.start_of(place))
    return found[1] if found is not None else None


def _type_hint(error: ValidationError, wanted: list[Any], value: Any, written: str | None) -> str | None:
    schema: Any = error.schema if isinstance(error.schema, dict) else {}
    if "enum" in schema:
        return _one_of(schema["enum"])
    if "string" in wanted and isinstance(value, (int, float)):
        return f'quote it: "{written or value}"'
    if "string" in wanted and value is None and not {"minLength", "pattern"} & schema.keys():
        return 'write "" for an empty text, or leave the field out'
    if value is None:
        return "leave the field out, or give it a value"
    if "integer" in wanted and isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"write {int(value)}"
    if "integer" in wanted and isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return f"write {value} without quotes"
    if "boolean" in wanted and value in ("true", "false", "yes", "no", "on", "off"):
        return f"write {'true' if value in ('true', 'yes', 'on') else 'false'} without quotes"
    if "array" in wanted and isinstance(value, str) and not isinstance(value, Include):
        return "write a list: [...]"
    return None


def _value_hint(error: ValidationError) -> str | None:
    if error.validator != "enum":
        return None
    allowed = [str(value) for value in error.validator_value]
    near = nearest(error.instance, allowed) if isinstance(error.instance, str) else None
    return near or _one_of(allowed)


def _one_of(allowed: list[Any]) -> str:
    return f"one of: {', '.join(map(str, allowed))}"


def _shown(path: list[Any]) -> str:
    return f'"{path_text(path)}"' if path else "the resource"


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
