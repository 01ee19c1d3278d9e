"""What broke in other clients, with the schemas that did it: what each provider is sent instead."""

import json
from typing import Any

import pytest
from legality import SCHEMA_OF, assert_legal, walk

from runtime.ai import Tool
from runtime.ai.formats import FORMATS, convert
from runtime.errors import ToolError

TEXT = {"type": "string"}


def offer(schema: Any, format: str, **options: Any) -> dict[str, Any]:
    [each] = convert([Tool("t", "d", schema)], format, **options).tools
    assert_legal(format, each.definition)
    return SCHEMA_OF[format](each.definition)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        {"type": "object"},
        {"type": "object", "properties": None, "required": None},
        {"type": "string"},
    ],
)
def test_tools_without_arguments_take_the_empty_object(schema: Any, format: str) -> None:
    assert offer(schema, format) == {"type": "object", "properties": {}, "required": []}


def test_a_schema_that_is_no_object_is_in_the_report() -> None:
    [each] = convert([Tool("t", "d", {"type": "string"})], "openai").tools
    assert [(entry.pointer, entry.effect) for entry in each.entries] == [("/type", "rewritten")]


def test_what_the_strict_form_lacks_switches_it_off() -> None:
    union = {"oneOf": [{"type": "integer"}, TEXT]}
    schema = {"type": "object", "additionalProperties": False}
    for properties in ({"v": union}, {"u": {**TEXT, "format": "uri"}}, {"v": {"$ref": "#/$defs/v"}}):
        published = {**schema, "properties": properties, "required": list(properties), "$defs": {"v": union}}
        [each] = convert([Tool("t", "d", published)], "openai", strict=True).tools
        assert "strict" not in each.definition["function"]


def test_an_optional_property_is_nullable_in_the_strict_form() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False}
    assert offer(schema, "openai", strict=True) == {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}},
        "required": ["a"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("format", FORMATS)
def test_combinators_at_the_root_leave_their_properties_and_are_told(format: str) -> None:
    rule = [{"required": ["id"]}, {"required": ["name"]}]
    schema = {"type": "object", "properties": {"id": TEXT, "name": TEXT}, "anyOf": rule}
    nested = {"type": "object", "properties": {"v": {"anyOf": [{"type": "integer"}, TEXT]}}}
    first, second = convert([Tool("t", "d", schema), Tool("u", "d", nested)], format).tools
    offered = SCHEMA_OF[format](first.definition)
    assert (offered["properties"], "anyOf" in offered) == ({"id": TEXT, "name": TEXT}, False)
    assert "at least one of these forms:\n- with id\n- with name" in json.dumps(first.definition).replace("\\n", "\n")
    assert [entry.effect for entry in first.entries] == ["weakened"]
    assert SCHEMA_OF[format](second.definition)["properties"] == nested["properties"]


@pytest.mark.parametrize("format", FORMATS)
def test_no_reference_is_sent_without_its_target(format: str) -> None:
    schema = {
        "type": "object",
        "properties": {"f": {"$ref": "#/$defs/Filter", "default": "fit"}},
        "additionalProperties": False,
        "$defs": {"Filter": {"type": "string", "enum": ["fit", "fill"]}},
    }
    offered = offer(schema, format)
    if format == "gemini-parameters":
        assert offered["properties"]["f"] == {"type": "string", "enum": ["fit", "fill"], "default": "fit"}
    else:
        assert (offered["$defs"], offered["additionalProperties"]) == (schema["$defs"], False)
        assert offered["properties"] == schema["properties"]


def test_values_that_gemini_cannot_take_are_said_otherwise() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "on": {"const": True},
            "n": {"type": "integer", "enum": [1, 2]},
            "t": {"type": ["string", "null"]},
            "x": {"type": "number", "exclusiveMinimum": 0},
            "o": {"type": "object", "additionalProperties": False},
        },
    }
    [each] = convert([Tool("t", "d", schema)], "gemini-parameters").tools
    properties = each.definition["parameters"]["properties"]
    assert {key: (part["type"], part.get("nullable", False)) for key, part in properties.items()} == {
        "on": ("boolean", False),
        "n": ("integer", False),
        "t": ("string", True),
        "x": ("number", False),
        "o": ("object", False),
    }
    assert {entry.pointer for entry in each.entries if entry.effect == "weakened"} == {
        "/properties/on/const",
        "/properties/n/enum",
        "/properties/x/exclusiveMinimum",
        "/properties/o/additionalProperties",
    }


@pytest.mark.parametrize("format", FORMATS)
def test_every_array_has_items_and_no_odd_one_takes_the_tool_away(format: str) -> None:
    any_type = {"type": ["string", "number", "boolean", "object", "array"]}
    schema = {
        "type": "object",
        "properties": {
            "value": any_type,
            "rows": {"type": "array"},
            "any": True,
            "list": {"type": "array", "items": True},
        },
    }
    offered = offer(schema, format)
    assert list(offered["properties"]) == ["value", "rows", "any", "list"]
    if format != "anthropic":
        assert all("items" in part for part in walk(offered) if "array" in part.get("type", ()))


def test_nulls_for_optional_arguments_are_left_out_and_others_stay() -> None:
    schema = {
        "type": "object",
        "properties": {"q": TEXT, "lang": TEXT, "cursor": {"type": ["string", "null"]}, "opt": {"type": "object"}},
        "required": ["q"],
    }
    converted = convert([Tool("t", "d", schema)], "openai")
    sent = {"q": "x", "lang": None, "cursor": None, "opt": {"deep": None}}
    assert converted.accept("t", sent)[1] == {"q": "x", "cursor": None, "opt": {"deep": None}}
    with pytest.raises(ToolError, match="/q: must be a string, found null"):
        converted.accept("t", {"q": None})
