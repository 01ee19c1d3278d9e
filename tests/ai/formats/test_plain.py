"""The quick look at a schema and the close one come to the same."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.ai import Tool
from runtime.ai.formats import convert
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.common import are_common
from runtime.ai.formats.schema.plain import find_plain, is_plain_part
from runtime.ai.formats.schema.repair import repair
from runtime.ai.formats.schema.root import flatten

KEYS = st.sampled_from("ab")
TYPES = st.sampled_from(["string", "integer", "object", "array", "null"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some, named = st.lists(inner, max_size=2), st.dictionaries(KEYS, inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(TYPES, st.lists(TYPES, max_size=2), st.just("int")),
            "properties": named,
            "required": st.lists(KEYS, max_size=2),
            "items": st.one_of(inner, st.booleans(), some),
            "additionalProperties": st.one_of(st.booleans(), inner),
            "enum": st.lists(st.integers(0, 2), max_size=2),
            "const": st.integers(0, 2),
            "minLength": st.sampled_from([0, 1, -1, 1.0, True]),
            "exclusiveMinimum": st.sampled_from([0, True, 0.5]),
            "pattern": st.sampled_from(["^a", "(?=a)", "(", "^(?<x>a)"]),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "(?=a)"]), inner, max_size=1),
            "$ref": st.sampled_from(["#/$defs/A", "#/$defs/B", "#", "#/definitions/A", "#/$defs/a%20b"]),
            "default": st.sampled_from([None, {"$ref": "#/$defs/none"}, {"$ref": "#/x"}, 1]),
            "nullable": st.booleans(),
            "x-note": st.just(1),
            "title": st.sampled_from(["T", None]),
            **dict.fromkeys(("anyOf", "oneOf", "allOf"), some),
            "not": inner,
        },
    )


PARTS = st.recursive(schemas(st.just({})), schemas, max_leaves=3)
FREQUENT = st.one_of(
    st.just({"type": "string"}),
    st.just({"type": "array", "items": {"$ref": "#/$defs/A"}}),
    PARTS,
    st.just({"$ref": "#/$defs/B"}),
)


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=150)
@given(
    st.dictionaries(KEYS, FREQUENT, max_size=2),
    st.dictionaries(st.sampled_from("AB"), FREQUENT, max_size=2),
    st.lists(KEYS, max_size=2),
)
def test_a_schema_that_passes_for_plain_is_left_as_it_is(arguments: Any, definitions: Any, required: Any) -> None:
    schema = {"type": "object", "properties": arguments, "required": required}
    schema = {**schema, "$defs": definitions} if definitions else schema
    schema = json.loads(json.dumps(schema))  # as it arrives, without parts that are one object
    if not find_plain(schema, {}):
        return
    report = Report()
    sound = repair(schema, report, {})
    assert (flatten(sound, report), report.entries()) == ((schema, []), [])
    odd = {**schema, "x-odd": True}  # has no influence but that the schema is looked at closely
    quick, close = (convert([Tool("t", "", each)], "openai").tools[0] for each in (schema, odd))
    offered = close.definition["function"]["parameters"]
    assert offered.pop("x-odd") is True
    assert quick.definition["function"]["parameters"] == offered


SCALARS = st.sampled_from([None, True, 1, -1, 1.0, 0.5, "", "a"])
USUAL_WORDS = {
    "description": SCALARS,
    "default": st.one_of(SCALARS, st.just({"$ref": "#"}), st.just([])),
    "examples": st.lists(SCALARS, max_size=2),
    "enum": st.lists(SCALARS, max_size=2),
    "required": st.lists(KEYS, max_size=2),
    "pattern": st.just("^a"),
    **dict.fromkeys(
        ("const", "minimum", "exclusiveMaximum", "maxLength", "minItems", "deprecated", "uniqueItems"), SCALARS
    ),
}


def typed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    nesting = {
        "items": inner,
        "properties": st.dictionaries(KEYS, inner, max_size=2),
        "additionalProperties": st.one_of(st.booleans(), inner),
    }
    few = st.lists(st.sampled_from([*USUAL_WORDS, *nesting]), max_size=3, unique=True)
    return few.flatmap(
        lambda chosen: st.fixed_dictionaries(
            {"type": TYPES, **{word: {**USUAL_WORDS, **nesting}[word] for word in chosen}}
        )
    )


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=200)
@given(st.dictionaries(KEYS, st.recursive(typed(st.just({"type": "string"})), typed, max_leaves=4), max_size=2))
def test_what_passes_for_common_is_plain(arguments: Any) -> None:
    if are_common(arguments):
        assert is_plain_part({"properties": arguments}, {})


@pytest.mark.parametrize("levels", [9, 10, 20, 2000])
def test_what_is_nested_deep_is_not_common(levels: int) -> None:
    part: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        part = {"type": "array", "items": part}

    assert are_common({"a": part}) is (levels <= 10)


@pytest.mark.parametrize(
    "argument",
    [
        {"type": "string", "description": "d", "format": "uri", "minLength": 1, "pattern": "^a"},
        {"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 1.5, "multipleOf": 2},
        {"type": "array", "items": {"anyOf": [{"const": 1}, {"enum": ["a"]}]}, "uniqueItems": True},
        {"type": "object", "properties": {"x": {}}, "required": ["x"], "additionalProperties": {"not": {}}},
        {"$ref": "#/$defs/Node", "description": "d"},
    ],
)
def test_frequent_schemas_are_plain(argument: Any) -> None:
    node = {"type": "object", "title": "Node", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    plain = {"type": "object", "properties": {"a": argument, "n": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    assert find_plain(plain, {})
