"""Variables and secrets: what is declared fits itself, and what the environment gives fits what is declared."""

from typing import Annotated, Any

import msgspec

from runtime.checks.findings import Findings
from runtime.checks.scopes import json_type
from runtime.manifest import Expression, Mapping
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
_KEYWORDS = frozenset((*_BOUNDS, "enum", "const", "pattern", "items", "minItems", "maxItems", "uniqueItems"))
_OBJECT_KEYWORDS = frozenset(("properties", "required", "additionalProperties"))


def check_defaults(resources: ResourceSet, findings: Findings) -> None:
    """VALUE_INVALID at each default that does not fit the declaration that it stands in."""
    application = resources.application
    if application is None:
        return
    for block in ("variables", "secrets"):
        declarations = application.body.get(block)
        if type(declarations) is not Mapping:
            continue
        for name, declaration in declarations.items():
            if type(declaration) is Mapping and "default" in declaration:
                _check_default(application, block, name, declaration, findings)


def _check_default(application: Resource, block: str, name: str, declaration: Mapping, findings: Findings) -> None:
    default = declaration["default"]
    if isinstance(default, Expression) or findings.is_silenced(default) or findings.is_silenced(declaration):
        return
    problem = value_problem(default, declaration)
    if problem is not None:
        place = declaration.places["default"][1]
        findings.report(application, place, "VALUE_INVALID", f'the default of "{block}.{name}" does not fit: {problem}')


def value_problem(value: Any, declaration: dict[str, Any]) -> str | None:
    """Why a value does not fit a declaration (`type` and keywords of JSON Schema), or None."""
    declared = declaration.get("type", "string")
    if not isinstance(declared, str):
        return None
    keywords = {key: declaration[key] for key in declaration if key in _KEYWORDS or key in _OBJECT_KEYWORDS}
    if declared in _PYTHON_TYPES and _fits_simply(value, declared, keywords):
        return None
    if declared not in _PYTHON_TYPES and not keywords and json_type(value) == declared:
        return None
    return _explained(value, declared, keywords)


def _fits_simply(value: Any, declared: str, keywords: dict[str, Any]) -> bool:
    """Whether msgspec takes the value: the fast answer for what is right."""
    bounds = {_BOUNDS[key]: limit for key, limit in keywords.items() if key in _BOUNDS}
    wanted: Any = _PYTHON_TYPES[declared]
    if keywords.keys() - _BOUNDS.keys() - {"enum"} or isinstance(value, bool) != (declared == "boolean"):
        return False
    try:
        if "enum" in keywords and value not in keywords["enum"]:
            return False
        msgspec.convert(value, Annotated[wanted, msgspec.Meta(**bounds)] if bounds else wanted)
    except (msgspec.ValidationError, TypeError, ValueError):
        return False
    return True


def _explained(value: Any, declared: str, keywords: dict[str, Any]) -> str | None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError, best_match

    schema = {"type": declared, **keywords}
    try:
        Draft202012Validator.check_schema(schema)
        error = best_match(Draft202012Validator(schema).iter_errors(value))
    except SchemaError as fault:
        return f"the declaration is no JSON Schema: {fault.message}"
    return error.message if error is not None else None
