"""Fields against the schema of their kind: fast where all is right, exact where something is wrong.

What `msgspec.convert` takes is valid. For what it refuses, `runtime.checks.schema_faults` finds and places every fault
(with the jsonschema library, which is imported then and only then). A property test holds the two to one verdict.
"""

from typing import Any

import msgspec

from runtime.checks.findings import Findings
from runtime.manifest import Expression, Mapping, Sequence
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet

_SAMPLES: dict[str, Any] = {
    "integer": 1,
    "number": 0.5,
    "boolean": False,
    "null": None,
    "array": [],
    "object": {},
}
"""What stands for an expression of that type; the bounds of a field are judged once there is a value."""


def check_schemas(resources: ResourceSet, findings: Findings) -> None:
    """SCHEMA_REQUIRED, SCHEMA_UNKNOWN_FIELD, SCHEMA_TYPE, SCHEMA_VALUE; CEL_TYPE where a field takes another type."""
    for resource, entry in resources.known():
        if not _is_valid(resource, entry):
            from runtime.checks.schema_faults import report_faults

            report_faults(resource, entry, findings)


def _is_valid(resource: Resource, entry: Entry) -> bool:
    fields: dict[str, Any] = {key: value for key, value in resource.body.items() if key not in ("kind", "metadata")}
    if resource.document.expressions:
        fields = {key: _sample(value) for key, value in fields.items()}
    try:
        msgspec.convert(fields, entry.cls)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def _sample(value: Any) -> Any:
    """The value with each expression that is no text replaced by a value of its type."""
    kind = type(value)
    if kind is Expression:
        return _SAMPLES.get(value.type, value)
    if kind is Mapping:
        return {key: _sample(item) for key, item in value.items()}
    if kind is Sequence:
        return [_sample(item) for item in value]
    return value
