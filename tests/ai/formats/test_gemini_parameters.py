"""The API's own Schema message, which says less than JSON Schema."""

from typing import Any

import pytest

from runtime.ai import Tool
from runtime.ai.formats import convert


def parameters(schema: Any) -> Any:
    [tool] = convert([Tool("t", "Does it.", schema)], "gemini-parameters").tools
    return tool.definition["parameters"]


def argument(schema: Any) -> Any:
    return parameters({"type": "object", "properties": {"a": schema}})["properties"]["a"]


FLAT = [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "object"}]
ANY_0 = {"anyOf": FLAT, "nullable": True}
ANY_1 = {"anyOf": [*FLAT, {"type": "array", "items": ANY_0}], "nullable": True}
ANY = {"anyOf": [*FLAT, {"type": "array", "items": ANY_1}], "nullable": True}


@pytest.mark.parametrize(
    ("published", "offered"),
    [
        ({"type": ["string", "null"], "description": "d"}, {"type": "string", "nullable": True, "description": "d"}),
        (
            {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None, "description": "d"},
            {"type": "integer", "minimum": 1, "default": None, "description": "d", "nullable": True},
        ),
        (
            {"type": ["string", "array"], "items": {"type": "string"}, "description": "d"},
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}], "description": "d"},
        ),
        ({}, ANY),
        ({"description": "d"}, {**ANY, "description": "d"}),
        ({"type": "array"}, {"type": "array", "items": ANY}),
        (
            {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "maxItems": 2},
            {"type": "array", "maxItems": 2, "items": {"anyOf": [{"type": "number"}, {"type": "string"}]}},
        ),
        ({"properties": {"x": {"type": "integer"}}}, {"type": "object", "properties": {"x": {"type": "integer"}}}),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "object", "description": 'Other keys hold {"type":"string"}.'},
        ),
        ({"type": "object", "additionalProperties": False}, {"type": "object", "description": "No other keys."}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "description": "One of 1,2."}),
        ({"enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        (
            {"type": "string", "format": "uri", "minLength": 1},
            {"type": "string", "minLength": 1, "description": "In the format uri."},
        ),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"type": "integer", "format": "int64"}, {"type": "integer", "format": "int64"}),
        (
            {"type": "string", "pattern": "^(?=a)"},
            {"type": "string", "description": "Matches the regular expression ^(?=a)"},
        ),
        ({"const": None}, {"type": "null"}),
    ],
)
def test_each_schema_has_one_type(published: Any, offered: Any) -> None:
    assert argument(published) == offered


def test_rules_beside_any_of_go_into_its_branches() -> None:
    published = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
        "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
        "description": "Who",
    }
    whole = {"type": "object", "properties": published["properties"]}
    assert argument(published) == {
        "anyOf": [{"required": ["id"], **whole}, {"required": ["name"], **whole}],
        "description": "Who",
    }


def test_references_are_written_out_and_recursion_is_opened() -> None:
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Tree", "description": "The tree"}},
        "$defs": {
            "Tree": {
                "type": "object",
                "properties": {"leaf": {"type": "string"}, "left": {"$ref": "#/$defs/Tree"}},
                "required": ["leaf"],
            }
        },
    }
    [tool] = convert([Tool("t", "", schema)], "gemini-parameters").tools
    assert tool.definition["parameters"]["properties"]["tree"] == {
        "type": "object",
        "properties": {"leaf": {"type": "string"}, "left": {"type": "object"}},
        "required": ["leaf"],
        "description": "The tree",
    }
    assert [(entry.pointer, entry.effect) for entry in tool.entries] == [
        ("/properties/tree/properties/left", "weakened")
    ]
