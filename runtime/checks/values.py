"""Variables and secrets: what is declared fits itself, and what the environment gives fits what is declared."""

import re
from typing import Annotated, Any

import msgspec

from runtime.checks.findings import Findings
from runtime.checks.scopes import json_type
from runtime.manifest import Broken, Expression, Mapping, Ref
from runtime.resource_set import Resource, ResourceSet

_PYTHON_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}
_BOUNDS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
}
_OWN = frozenset(("type", "default", "description", "title", "env", "file", "command", "examples", "format"))
"""What is no keyword that a value is checked against."""
_SCHEMAS = frozenset(
    [
        *(
            "items",
            "prefixItems",
            "contains",
            "unevaluatedItems",
            "properties",
            "additionalProperties",
            "propertyNames",
        ),
        *("patternProperties", "dependentSchemas", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "not", "if"),
        *("then", "else", "contentSchema", "$defs", "$ref"),
    ]
)
"""The keywords that hold schemas of their own, and are not checked by their types alone."""


def check_defaults(resources: ResourceSet, findings: Findings) -> None:
    """VALUE_INVALID at each default that does not fit the declaration that it stands in; SCHEMA_VALUE at a keyword that
    is no JSON Schema."""
    for application in resources.applications:
        for block in ("variables", "secrets"):
            declarations = application.body.get(block)
            if type(declarations) is not Mapping:
                continue
            for name, declaration in declarations.items():
                if findings.is_full(application):
                    return
                if type(declaration) is Mapping and not findings.is_cut(declarations, name):
                    _check_declaration(application, f"{block}.{name}", declaration, findings)


def _check_declaration(application: Resource, name: str, declaration: Mapping, findings: Findings) -> None:
    if not _check_keywords(application, name, declaration, findings) or "default" not in declaration:
        return
    default = declaration["default"]
    if isinstance(default, (Expression, Ref, Broken)) or _is_faulty(application, declaration, findings):
        return
    problem = value_problem(default, declaration, is_secret=name.startswith("secrets."))
    if problem is not None:
        place = declaration.places["default"][1]
        findings.report(application, place, "VALUE_INVALID", f'the default of "{name}" does not fit: {problem}')


def _is_faulty(application: Resource, declaration: Mapping, findings: Findings) -> bool:
    """Whether something was reported of a declaration, so that nothing can be said of its default."""
    return any(findings.is_faulty(application, place) for _, place in declaration.places.values())


def _check_keywords(application: Resource, name: str, declaration: Mapping, findings: Findings) -> bool:
    """Whether the keywords are a JSON Schema, as far as the types of the fields do not say so already."""
    faults: list[tuple[tuple[str | int, ...], str]] = []
    inside = {key: declaration[key] for key in declaration if key in _SCHEMAS}
    if inside:
        from runtime.json_schema import find_schema_faults

        faults += find_schema_faults(inside)
    pattern = declaration.get("pattern")
    if isinstance(pattern, str):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            faults.append((("pattern",), f'"{name}.pattern" is no regular expression: {error}'))
    for path, message in faults:
        container: Any = declaration
        for step in path[:-1]:
            container = container[step]
        place = container.places[path[-1]]
        place = place[1] if isinstance(place, tuple) else place
        if type(container[path[-1]]) is not Broken and not findings.is_faulty(application, place):
            findings.report(application, place, "SCHEMA_VALUE", message)
    return not faults


def value_problem(value: Any, declaration: dict[str, Any], *, is_secret: bool = False) -> str | None:
    """Why a value does not fit a declaration (`type` and keywords of JSON Schema), or None; a secret is not shown."""
    declared = declaration.get("type", "string")
    if not isinstance(declared, str):
        return None
    if declared == "integer" and isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return "it has to be a whole number of at most 64 bits"
    keywords = {key: declaration[key] for key in declaration if key not in _OWN}
    if declared in _PYTHON_TYPES and _fits_simply(value, declared, keywords):
        return None
    if declared not in _PYTHON_TYPES and not keywords and json_type(value) == declared:
        return None
    return _explained(value, {"type": declared, **keywords}, is_secret)


def _fits_simply(value: Any, declared: str, keywords: dict[str, Any]) -> bool:
    """Whether msgspec takes the value: the fast answer for what is right."""
    bounds = {_BOUNDS[key]: limit for key, limit in keywords.items() if key in _BOUNDS}
    wanted: Any = _PYTHON_TYPES[declared]
    if keywords.keys() - _BOUNDS.keys() - {"enum"} or isinstance(value, bool) != (declared == "boolean"):
        return False
    try:
        if "enum" in keywords and not any(type(each) is type(value) and each == value for each in keywords["enum"]):
            return False
        msgspec.convert(value, Annotated[wanted, msgspec.Meta(**bounds)] if bounds else wanted)
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError):
        return False
    return True


def _explained(value: Any, schema: dict[str, Any], is_secret: bool) -> str | None:
    from jsonschema.exceptions import best_match

    from runtime.checks.value_schema import find_errors
    from runtime.diagnostics.wording import explained, path_text

    try:
        error = best_match(find_errors(schema, value))
    except (ValueError, ArithmeticError, LookupError, RecursionError):  # such as a reference to nowhere, or to itself
        return "the keywords of its declaration cannot be applied to it"
    if error is None:
        return None
    path = tuple(error.absolute_path)
    return explained(error, f'"{path_text(path)}"' if path else "it", is_secret=is_secret)
