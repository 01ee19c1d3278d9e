"""What OpenAI takes, with and without its strict form."""

from typing import Any

import pytest

from runtime.ai import Tool
from runtime.ai.formats import Entry, convert
from runtime.ai.formats.conversion import ConvertedTool


def offer(schema: Any, *, strict: bool = False) -> ConvertedTool:
    [tool] = convert([Tool("t", "Does it.", schema)], "openai", strict=strict).tools
    return tool


def parameters(schema: Any, *, strict: bool = False) -> Any:
    return offer(schema, strict=strict).definition["function"]["parameters"]


def argument(schema: Any) -> Any:
    return parameters({"type": "object", "properties": {"a": schema}, "required": []})["properties"]["a"]


@pytest.mark.parametrize(
    ("published", "offered"),
    [
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": ["string", "array"]}, {"type": ["string", "array"], "items": {}}),
        (
            {"anyOf": [{"type": "string"}, {"type": "array"}]},
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]},
        ),
        (
            {"type": "array", "prefixItems": [{"type": "array"}]},
            {"type": "array", "prefixItems": [{"type": "array", "items": {}}], "items": {}},
        ),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        (True, {}),
        (False, False),
    ],
)
def test_arrays_have_items_and_true_is_an_open_schema(published: Any, offered: Any) -> None:
    assert argument(published) == offered


@pytest.mark.parametrize(
    ("pattern", "offered"),
    [
        ("^[a-z]+$", {"type": "string", "pattern": "^[a-z]+$"}),
        ("^(?<y>\\d{4})$", {"type": "string", "pattern": "^(?P<y>\\d{4})$"}),
        (
            "^(?!x)",
            {"type": "string", "description": "Matches the regular expression ^(?!x)"},
        ),
        (
            "^\\p{L}+$",
            {"type": "string", "description": "Matches the regular expression ^\\p{L}+$"},
        ),
        ("(", {"type": "string", "description": "Matches the regular expression ("}),
    ],
)
def test_a_pattern_that_is_refused_is_said_in_words(pattern: str, offered: Any) -> None:
    assert argument({"type": "string", "pattern": pattern}) == offered


def test_a_pattern_of_keys_that_is_refused_opens_the_closed_object() -> None:
    published = {"patternProperties": {"^(?=x)": {"type": "string"}}, "additionalProperties": False}
    assert argument(published) == {
        "patternProperties": {},
        "additionalProperties": {"type": "string"},
        "description": 'Keys that match ^(?=x) hold {"type":"string"}.',
    }


def test_a_pattern_that_is_refused_goes_from_the_root_as_well() -> None:
    assert parameters({"type": "object", "pattern": "^(?=x)", "patternProperties": {"(": {}}}) == {
        "type": "object",
        "patternProperties": {},
        "properties": {},
        "required": [],
        "description": "Matches the regular expression ^(?=x) Keys that match ( hold {}.",
    }


def test_a_rule_that_a_lost_pattern_would_turn_against_valid_calls_is_said_in_words() -> None:
    branches = [{"type": "string", "pattern": "^(?=a)"}, {"type": "string", "pattern": "^b"}]
    assert argument({"oneOf": branches}) == {
        "anyOf": [
            {"type": "string", "description": "Matches the regular expression ^(?=a)"},
            {"type": "string", "pattern": "^b"},
        ]
    }
    assert argument({"not": {"pattern": "^(?=a)"}, "type": "string"}) == {
        "type": "string",
        "description": 'Must not fit {"description":"Matches the regular expression ^(?=a)"}.',
    }


def test_rules_for_all_arguments_together_go_into_the_description() -> None:
    tool = offer(
        {
            "type": "object",
            "properties": {"a": {}, "b": {}},
            "required": [],
            "not": {"required": ["a", "b"]},
            "dependentRequired": {"a": ["b"]},
            "if": {"required": ["a"]},
            "then": {"required": ["b"]},
            "enum": [{"a": 1}],
        }
    )
    assert tool.definition["function"] == {
        "name": "t",
        "description": (
            "Does it.\n\n"
            'All arguments together: Must be {"a":1}.\n\n'
            'All arguments together: Must not fit {"required":["a","b"]}.\n\n'
            "All arguments together: a needs b.\n\n"
            'All arguments together: If it fits {"required":["a"]}, then it fits {"required":["b"]}.'
        ),
        "parameters": {"type": "object", "properties": {"a": {}, "b": {}}, "required": []},
    }
    assert {(entry.pointer, entry.effect) for entry in tool.entries} == {
        ("/enum", "weakened"),
        ("/not", "weakened"),
        ("/dependentRequired", "weakened"),
        ("/if", "weakened"),
        ("/then", "weakened"),
    }


CLOSED = {
    "type": "object",
    "properties": {
        "q": {"type": "string", "title": "Q"},
        "n": {"type": "integer", "default": 5},
        "o": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "e": {"type": "string", "enum": ["x", "y"]},
        "r": {"$ref": "#/$defs/R", "description": "An R"},
    },
    "required": ["q"],
    "additionalProperties": False,
    "$defs": {"R": {"type": "object", "properties": {}, "required": [], "additionalProperties": False}},
}


def test_strict_requires_every_property_and_lets_optional_ones_be_null() -> None:
    tool = offer(CLOSED, strict=True)
    assert tool.definition["function"]["strict"] is True
    assert tool.definition["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "n": {"type": ["integer", "null"], "description": "Default: 5."},
            "o": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "e": {"type": ["string", "null"], "enum": ["x", "y", None]},
            "r": {"anyOf": [{"$ref": "#/$defs/R"}, {"type": "null"}], "description": "An R"},
        },
        "required": ["q", "n", "o", "e", "r"],
        "additionalProperties": False,
        "$defs": {"R": {"type": "object", "properties": {}, "required": [], "additionalProperties": False}},
    }


def test_nulls_of_the_strict_form_are_left_out_on_the_way_back() -> None:
    converted = convert([Tool("t", "", CLOSED)], "openai", strict=True)
    _, arguments = converted.accept("t", {"q": "x", "n": None, "o": None, "e": None, "r": None})
    assert arguments == {"q": "x", "o": None}


def test_nulls_of_the_strict_form_are_left_out_in_branches_and_lists_too() -> None:
    part = {
        "type": "object",
        "properties": {"k": {"const": "a"}, "n": {"type": "integer"}},
        "required": ["k"],
        "additionalProperties": False,
    }
    other = {**part, "properties": {"k": {"const": "b"}, "m": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"anyOf": [part, other]}}},
        "required": ["list"],
        "additionalProperties": False,
    }
    converted = convert([Tool("t", "", schema)], "openai", strict=True)
    assert converted.tools[0].definition["function"]["strict"] is True
    sent = {"list": [{"k": "a", "n": None}, {"k": "b", "m": None}, {"k": "b", "m": 1}]}
    assert converted.accept("t", sent)[1] == {"list": [{"k": "a"}, {"k": "b"}, {"k": "b", "m": 1}]}


@pytest.mark.parametrize(
    "change",
    [
        {"additionalProperties": True},
        {"properties": {"a": {"type": "string", "format": "uri"}}},
        {"properties": {"a": {"type": "string", "minLength": 1}}},
        {"properties": {"a": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}},
        {"properties": {"a": {}}},
        {"properties": {"a": {"type": "array"}}},
        {"properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}}},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    ],
)
def test_what_the_strict_form_cannot_say_stays_as_it_is(change: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False, **change}
    assert offer(schema, strict=True).definition == offer(schema).definition


def test_responses_say_whether_a_tool_is_strict() -> None:
    closed, open_ = Tool("a", "", CLOSED), Tool("b", "", {"type": "object"})
    payload = convert([closed, open_], "openai-responses", strict=True).payload
    assert [tool["strict"] for tool in payload] == [True, False]


def test_an_array_without_items_is_reported() -> None:
    assert list(offer({"type": "object", "properties": {"a": {"type": "array"}}}).entries) == [
        Entry("/properties/a", "rewritten", 'an array without "items" has any members')
    ]
