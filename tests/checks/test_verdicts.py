"""The fast verdict on the fields of a resource (msgspec) and the exact one (jsonschema) are one verdict."""

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.checks import check
from runtime.checks.findings import Findings
from runtime.checks.schema_faults import report_faults
from runtime.manifest import Mapping, Source, load
from runtime.registry import Entry, Registry
from runtime.resource_set import ResourceSet

TEXTS = ("text", "https://x.example", "2026-11-30", "v1", "ERR_X", "birds:count", "30d")
"""Between them they fit the patterns of our fields."""
SCALARS: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    5,
    10**20,
    0.5,
    -2.0,
    1e300,
    "",
    "x",
    "5",
    "auto",
    "https://x.example",
]
VALUES = st.one_of(
    st.sampled_from(SCALARS),
    st.sampled_from([[], {}, [None], ["a"], [1], {"a": "b"}, {"a": 1}, {"name": "x"}, [{}], {"type": "string"}]),
)


@cache
def entries() -> tuple[Registry, dict[str, Entry]]:
    registry = Registry()
    found = {name: registry.find(name) for name in registry.names()}
    return registry, {name: entry for name, entry in found.items() if isinstance(entry, Entry)}


def valid_fields(entry: Entry) -> dict[str, Any]:
    """Fields that the kind takes: all of them, made from its schema."""
    schema = entry.shape.schema
    fields: dict[str, Any] = make(schema, schema, 4)
    return fields


def make(schema: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    """A value that fits a schema of ours."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return make(schema["anyOf"][-1], root, depth)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        required = schema.get("required", ())
        parts = schema["properties"].items()
        return {name: make(part, root, depth - 1) for name, part in parts if depth > 0 or name in required}
    if kind == "object":
        part = schema.get("additionalProperties")
        return {"some": make(part, root, depth - 1)} if isinstance(part, dict) else {"some": "thing"}
    if kind == "array":
        return [make(schema.get("items", {}), root, depth - 1)] * max(1, schema.get("minItems", 1))
    if kind == "string":
        fitting = [text for text in TEXTS if re.search(schema.get("pattern", ""), text)]
        assert fitting, f"add a text to TEXTS that fits {schema['pattern']}"
        return fitting[0]
    if kind in ("integer", "number"):
        return max(1, schema.get("minimum", 1), schema.get("exclusiveMinimum", 0) + 1)
    return True if kind == "boolean" else "anything"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def changed(fields: dict[str, Any], path: tuple[Any, ...], how: str, value: Any) -> dict[str, Any]:
    """The fields with one thing done to them."""
    result: Any = copy.deepcopy(fields)
    container = result
    for step in path[:-1]:
        container = container[step]
    target = container[path[-1]] if path else container
    if how == "add" and isinstance(target, dict):
        target["unknown"] = value
    elif how == "add" and isinstance(target, list):
        target.append(value)
    elif how == "remove" and path:
        del container[path[-1]]
    elif path:
        container[path[-1]] = value
    return result if isinstance(result, dict) else {}


def exact_faults(name: str, fields: dict[str, Any]) -> list[str]:
    """What the exact check finds."""
    body = {"kind": name, "metadata": {"name": "Resource"}, **fields}
    loaded = load(Source("m.yaml", json.dumps(body).encode(), "."))
    resources = ResourceSet(loaded.documents, entries()[0])
    resource = resources.resources[0]
    findings = Findings(list(loaded.diagnostics))
    assert isinstance(resource.entry, Entry)
    report_faults(resource, resource.entry, findings)
    return [f"{found.code} {found.message}" for found in findings.diagnostics]


def takes(name: str, fields: dict[str, Any]) -> bool:
    """What the fast check says."""
    [document] = load(Source("m.yaml", json.dumps(fields or {"": 0}).encode(), ".")).documents
    assert type(document.body) is Mapping
    try:
        msgspec.convert(dict(document.body) if fields else {}, entries()[1][name].cls)
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", entries()[1])
def test_fields_made_from_the_schema_are_taken_by_both(name: str) -> None:
    fields = valid_fields(entries()[1][name])

    assert (takes(name, fields), exact_faults(name, fields)) == (True, [])


@given(data=st.data())
def test_both_give_one_verdict_on_changed_fields(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(entries()[1])))
    fields = valid_fields(entries()[1][name])
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(places(fields), key=str)))
        fields = changed(fields, path, data.draw(st.sampled_from(["replace", "remove", "add"])), data.draw(VALUES))

    assert takes(name, fields) is (exact_faults(name, fields) == []), fields


TYPED = {"string": "x", "integer": 5, "number": 0.5, "boolean": True, "array": [], "object": {}}


@pytest.mark.parametrize("given_type", TYPED)
@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("Mcp.StdioClient", "cwd"),
        ("Mcp.StdioClient", "args"),
        ("Mcp.StdioClient", "env"),
        ("Mcp.StdioClient", "lifetime"),
        ("Mcp.StdioClient", "required"),
        ("Mcp.StdioClient", "inheritEnv"),
        ("Mcp.StdioClient", "connectTimeoutMs"),
        ("Ai.Agent", "toolChoice"),
        ("Ai.Agent", "limits"),
        ("Ai.Agent", "options"),
    ],
)
def test_an_expression_fits_a_field_where_a_value_of_its_type_would(kind: str, field: str, given_type: str) -> None:
    other = {"Mcp.StdioClient": "command: x", "Ai.Agent": "model: { kind: Ai.ScriptedModel }"}[kind]

    default = json.dumps(TYPED[given_type])

    def codes(value: str) -> set[str]:
        text = (
            f"kind: {kind}\nmetadata: {{ name: X }}\n{other}\n{field}: {value}\n---\nkind: Runtime.Application\n"
            f"metadata: {{ name: App }}\nvariables: {{ v: {{ type: {given_type}, default: {default} }} }}\n"
        )
        return {found.code for found in check([Source("m.yaml", text.encode(), ".")]).diagnostics}

    expression, value = codes('"${{ variables.v }}"'), codes(default)

    assert ("CEL_TYPE" in expression) is ("SCHEMA_TYPE" in value)
    assert "SCHEMA_TYPE" not in expression
