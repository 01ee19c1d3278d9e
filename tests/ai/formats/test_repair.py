"""Published schemas in any dialect and state, as sound ones of 2020-12 that mean the same."""

import json
import subprocess
import sys
from typing import Any

import pytest

from runtime.ai.formats.report import Entry, Report
from runtime.ai.formats.schema.repair import repair


def mend(schema: Any) -> Any:
    return repair(schema, Report(), {})


def argument(schema: Any) -> Any:
    return mend({"properties": {"a": schema}})["properties"]["a"]


@pytest.mark.parametrize(
    ("published", "sound"),
    [
        # draft-03 and draft-04
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 0}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        # draft-07
        ({"items": [{"type": "string"}, True]}, {"prefixItems": [{"type": "string"}, {}]}),
        ({"items": [{}], "additionalItems": False}, {"prefixItems": [{}], "items": False}),
        ({"items": {}, "additionalItems": False}, {"items": {}}),
        (
            {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
            {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}},
        ),
        # OpenAPI 3.0
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"oneOf": [{"type": "string"}], "nullable": True, "description": "d"},
            {"description": "d", "anyOf": [{"oneOf": [{"type": "string"}]}, {"type": "null"}]},
        ),
        # values that are not what the keyword wants
        ({"type": "int"}, {"type": "integer"}),
        ({"type": "Object"}, {"type": "object"}),
        ({"type": ["str", "undefined"]}, {"type": ["string"]}),
        ({"type": ["string", "string"]}, {"type": ["string"]}),
        ({"type": "any"}, {}),
        ({"type": ["string", "what"]}, {}),
        ({"type": []}, {}),
        ({"enum": "x"}, {}),
        ({"enum": []}, {}),
        ({"required": True}, {}),
        ({"required": ["a", 1, "a"]}, {"required": ["a"]}),
        ({"minimum": "5"}, {"minimum": 5}),
        ({"minimum": "low"}, {}),
        ({"minLength": -1, "maxLength": 2.0, "minItems": 2.5}, {"maxLength": 2}),
        ({"multipleOf": 0}, {}),
        ({"pattern": None, "format": 3, "title": ["a", "b"], "description": None}, {"title": "a\nb"}),
        ({"examples": {"x": 1}, "deprecated": "yes", "default": {"$ref": "#/x"}}, {"default": {"$ref": "#/x"}}),
        ({"anyOf": []}, {}),
        ({"anyOf": {"type": "string"}}, {"anyOf": [{"type": "string"}]}),
        ({"additionalProperties": None}, {}),
        ({"additionalProperties": "string"}, {"additionalProperties": {"type": "string"}}),
        ({"additionalProperties": True}, {"additionalProperties": True}),
        ({"properties": [{"name": "q", "type": "string"}]}, {"properties": {"q": {"type": "string"}}}),
        ({"properties": "nonsense"}, {}),
        ({"$schema": "x", "$id": "y", "$comment": "c"}, {"$comment": "c"}),
        # no schemas at all
        (True, {}),
        (False, False),
        ("string", {"type": "string"}),
        ("the path", {"description": "the path"}),
        (None, {}),
        (3, {}),
    ],
)
def test_what_was_published_is_in_the_words_of_2020_12(published: Any, sound: Any) -> None:
    assert argument(published) == sound


def test_a_property_that_says_it_is_required_is_required_around() -> None:
    schema = {
        "properties": {
            "a": {"required": True},
            "b": {"required": False},
            "c": {"required": True, "default": 1},
        },
        "required": ["z"],
    }
    assert mend(schema) == {"properties": {"a": {}, "b": {}, "c": {"default": 1}}, "required": ["z", "a"]}


def test_arguments_named_like_keywords_are_left_alone() -> None:
    names = ("type", "properties", "$ref", "$defs", "required", "items", "nullable", "default", "title", "anyOf")
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": [*names]}
    assert mend(schema) is schema


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/T",
        "#/definitions/Old~1T~0x",
        "#/definitions/Old%2FT~0x",
        "#/properties/b",
        "#/properties/c/items/0",
        "#/components/schemas/T",
        "#anchored",
        "#legacy",
        "identified",
        "https://example.invalid/identified",
        "https://example.invalid/root#/$defs/T",
        "T",
        "$defs/T",
    ],
)
def test_a_reference_that_leads_somewhere_in_the_schema_is_followed(reference: str) -> None:
    target = {"type": "string", "maxLength": 3}
    schema = {
        "$id": "https://example.invalid/root",
        "properties": {
            "a": {"$ref": reference},
            "b": {**target},
            "c": {"items": [{**target}]},
            "d": {**target, "$anchor": "anchored"},
            "e": {**target, "$id": "#legacy"},
            "f": {**target, "$id": "https://example.invalid/identified"},
        },
        "$defs": {"T": {**target}},
        "definitions": {"Old/T~x": {**target}},
        "components": {"schemas": {"T": {**target}}},
    }
    sound = mend(schema)
    [(name, definition)] = sound["$defs"].items()
    assert sound["properties"]["a"] == {"$ref": f"#/$defs/{name}"}
    assert definition == target


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/none", "http://127.0.0.1:9/x.json", "file:///etc/hostname", "#none", "#/type", "other.json#/T"],
)
def test_a_reference_that_leads_nowhere_is_any_value_and_never_fetched(reference: str) -> None:
    report = Report()
    schema = {"type": "object", "properties": {"a": {"$ref": reference, "description": "A"}}}
    assert repair(schema, report, {}) == {"type": "object", "properties": {"a": {"description": "A"}}}
    assert report.entries() == [
        Entry("/properties/a", "weakened", f'the reference "{reference}" leads nowhere, so it says nothing')
    ]


def test_only_definitions_that_are_referred_to_stay() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {}, "C": {}},
    }
    assert mend(schema) == {
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {}},
    }


@pytest.mark.parametrize(
    ("definitions", "left"),
    [
        ({"A": {"$ref": "#/$defs/A"}}, {"A": {}}),
        ({"A": {"allOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]}}, {"A": {"allOf": [{}, {"type": "string"}]}}),
        (
            {"A": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}]}, "B": {"$ref": "#/$defs/A"}},
            {"A": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}]}, "B": {}},
        ),
        (
            {"A": {"properties": {"next": {"$ref": "#/$defs/A"}}}},
            {"A": {"properties": {"next": {"$ref": "#/$defs/A"}}}},
        ),
    ],
)
def test_a_definition_never_refers_to_itself_about_the_same_value(definitions: Any, left: Any) -> None:
    assert mend({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": definitions})["$defs"] == left


def test_names_of_definitions_are_plain_and_distinct() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/X"}, "b": {"$ref": "#/definitions/X"}, "c": {"$ref": "#/$defs/P<Q>"}},
        "$defs": {"X": {"type": "string"}, "P<Q>": {"type": "null"}},
        "definitions": {"X": {"type": "integer"}},
    }
    assert mend(schema)["$defs"] == {"X": {"type": "string"}, "X_2": {"type": "integer"}, "P_Q_": {"type": "null"}}


def test_depth_is_bounded() -> None:
    schema: Any = {"type": "string"}
    for _ in range(400):
        schema = {"properties": {"a": schema}}
    assert json.dumps(mend(schema)).count("properties") == 101


def test_many_references_take_linear_time() -> None:
    code = """
import sys
from runtime.ai import Tool
from runtime.ai.formats import convert
defs = {f"d{n}": {"properties": {k: {"$ref": f"#/$defs/d{n+1}"} for k in "abcdefgh"}} for n in range(2000)}
schema = {"properties": {"r": {"$ref": "#/$defs/d0"}}, "$defs": {**defs, "d2000": {"type": "null"}}}
print(*[len(convert([Tool("t", "", schema)], name).encoded) for name in ("openai", "anthropic", "gemini")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=20)
    assert [int(size) < 700_000 for size in done.stdout.split()] == [True] * 3
