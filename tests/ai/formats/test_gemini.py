"""What Gemini reads of JSON Schema, and what goes into words."""

import copy
from typing import Any

import pytest

from runtime.ai import Tool
from runtime.ai.formats import Entry, convert
from runtime.ai.formats.conversion import ConvertedTool


def offer(schema: Any) -> ConvertedTool:
    [tool] = convert([Tool("t", "Does it.", schema)], "gemini").tools
    return tool


def parameters(schema: Any) -> Any:
    return offer(schema).definition["parametersJsonSchema"]


def argument(schema: Any) -> Any:
    return parameters({"type": "object", "properties": {"a": schema}})["properties"]["a"]


@pytest.mark.parametrize(
    ("published", "offered"),
    [
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        ({"type": "integer", "const": 2}, {"type": "integer", "enum": [2]}),
        ({"const": None}, {"type": "null"}),
        ({"const": True}, {"type": "boolean", "description": "Must be true."}),
        ({"const": {"k": 1}}, {"type": "object", "description": 'Must be {"k":1}.'}),
        ({"const": [1]}, {"type": "array", "items": {}, "description": "Must be [1]."}),
        ({"enum": [0.5, 1]}, {"type": "number", "enum": [0.5, 1]}),
        ({"enum": [True, False]}, {"type": "boolean"}),
        ({"type": "string", "enum": ["", "a"]}, {"type": "string", "description": 'One of "","a".'}),
        ({"type": "string", "enum": ["a", 1]}, {"type": "string", "enum": ["a"]}),
        (
            {"type": ["string", "null"], "enum": ["a", None], "description": "d"},
            {"description": "d", "anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
        ({"enum": [1, "a"]}, {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["a"]}]}),
    ],
)
def test_constants_are_enumerated_under_their_types(published: Any, offered: Any) -> None:
    assert argument(published) == offered


@pytest.mark.parametrize(
    ("published", "offered"),
    [
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "integer", "exclusiveMinimum": 0.5, "minimum": 3}, {"type": "integer", "minimum": 3}),
        ({"type": ["integer", "null"], "exclusiveMaximum": 10}, {"type": ["integer", "null"], "maximum": 9}),
        (
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "number", "minimum": 0, "description": "Greater than 0."},
        ),
        (
            {"type": "number", "multipleOf": 0.5, "description": "d."},
            {"type": "number", "description": "d. A multiple of 0.5."},
        ),
        (
            {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a", "format": "uri"},
            {
                "type": "string",
                "format": "uri",
                "description": "At least 1 character. At most 9 characters. Matches the regular expression ^a",
            },
        ),
    ],
)
def test_bounds_that_gemini_lacks_are_moved_or_said(published: Any, offered: Any) -> None:
    assert argument(published) == offered


@pytest.mark.parametrize(
    ("published", "offered"),
    [
        ({"type": "array"}, {"type": "array", "items": {}}),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {}, "maxItems": 1},
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "unevaluatedItems": False, "maxItems": 5},
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {}, "maxItems": 1},
        ),
        (
            {"type": "array", "items": {}, "contains": {"const": 1}, "uniqueItems": True},
            {
                "type": "array",
                "items": {},
                "description": 'Has a member that fits {"const":1}. No member occurs twice.',
            },
        ),
    ],
)
def test_arrays_have_items_and_end_where_they_must(published: Any, offered: Any) -> None:
    assert argument(published) == offered


@pytest.mark.parametrize(
    ("published", "offered"),
    [
        (
            {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": 'Keys that match ^x- hold {"type":"string"}.',
            },
        ),
        (
            {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": {"type": "integer"}},
            {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "description": "Keys match the regular expression ^[a-z]+$",
            },
        ),
        (
            {"type": "object", "properties": {"a": False, "b": True}, "required": ["b"]},
            {"type": "object", "properties": {"b": {}}, "required": ["b"]},
        ),
        (
            {"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}},
            {
                "type": "object",
                "required": ["a"],
                "additionalProperties": {"type": "string"},
                "properties": {"a": {"type": "string"}},
            },
        ),
        (
            {"type": "object", "properties": {"a": {}}, "unevaluatedProperties": False},
            {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        ),
    ],
)
def test_objects_stay_as_open_as_they_were(published: Any, offered: Any) -> None:
    assert argument(published) == offered


@pytest.mark.parametrize(
    ("branches", "effect"),
    [
        ([{"type": "string"}, {"type": "integer"}], "rewritten"),
        ([{"const": 1}, {"const": 2}], "rewritten"),
        (
            [
                {"properties": {"k": {"const": "a"}}, "required": ["k"]},
                {"properties": {"k": {"const": "b"}}, "required": ["k"]},
            ],
            "rewritten",
        ),
        ([{"type": "integer"}, {"type": "number"}], "weakened"),
        ([{"required": ["a"]}, {"required": ["b"]}], "weakened"),
    ],
)
def test_one_of_is_any_of_and_says_whether_that_is_the_same(branches: list[Any], effect: str) -> None:
    tool = offer({"type": "object", "properties": {"v": {"oneOf": branches}}})
    [entry] = [entry for entry in tool.entries if entry.pointer == "/properties/v/oneOf"]
    assert entry == Entry("/properties/v/oneOf", effect, '"oneOf" is read as "anyOf"')


def test_all_of_is_merged_and_a_lone_reference_keeps_its_notes() -> None:
    schema = {
        "type": "object",
        "properties": {
            "lone": {"allOf": [{"$ref": "#/$defs/T"}], "description": "L"},
            "both": {"allOf": [{"$ref": "#/$defs/T"}, {"properties": {"y": {"type": "integer"}}, "required": ["y"]}]},
            "beside": {"$ref": "#/$defs/T", "minProperties": 1, "title": "B"},
            "titled": {"$ref": "#/$defs/T", "title": "Titled", "deprecated": True},
        },
        "$defs": {"T": {"type": "object", "title": "Tee", "properties": {"x": {"title": "Ex", "type": "string"}}}},
    }
    merged = {"type": "object", "title": "Tee", "properties": {"x": {"title": "Ex", "type": "string"}}}
    offered = parameters(schema)
    assert offered["properties"] == {
        "lone": {"$ref": "#/$defs/T", "description": "L"},
        "both": {**merged, "properties": {**merged["properties"], "y": {"type": "integer"}}, "required": ["y"]},
        "beside": {**merged, "title": "B", "description": "At least 1 key."},
        "titled": {"$ref": "#/$defs/T", "description": "Titled"},
    }
    assert offered["$defs"] == {
        "T": {"description": "Tee", "type": "object", "properties": {"x": {"description": "Ex", "type": "string"}}}
    }


def test_what_other_keys_hold_is_looked_at_as_well() -> None:
    schema = {"type": "object", "description": "d", "properties": {}, "additionalProperties": {"const": "x"}}
    assert parameters(schema)["additionalProperties"] == {"type": "string", "enum": ["x"]}


def test_recursion_stays_and_what_never_ends_is_opened() -> None:
    tree = {"type": "object", "properties": {"l": {"$ref": "#/$defs/Tree"}}}
    never = {"type": "object", "properties": {"n": {"$ref": "#/$defs/Never"}}, "required": ["n"]}
    schema = {
        "type": "object",
        "properties": {"t": {"$ref": "#/$defs/Tree"}, "n": {"$ref": "#/$defs/Never"}},
        "$defs": {"Tree": tree, "Never": never},
    }
    assert parameters(schema)["$defs"] == {
        "Tree": tree,
        "Never": {"type": "object", "properties": {"n": {}}, "required": ["n"]},
    }


def test_a_reference_with_rules_beside_it_inside_of_its_own_target_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N", "minProperties": 1}}}
    schema = {"type": "object", "properties": {"n": {"$ref": "#/$defs/N", "minProperties": 1}}, "$defs": {"N": node}}
    assert parameters(schema)["properties"]["n"]["properties"]["next"] == {
        "$ref": "#/$defs/N",
        "description": "At least 1 key.",
    }


def test_rules_that_gemini_does_not_read_are_said_where_they_hold() -> None:
    published = {
        "type": "object",
        "properties": {"x": {"type": "string"}},
        "not": {"required": ["y"]},
        "dependentRequired": {"x": ["z"]},
        "if": {"required": ["x"]},
        "then": {"maxProperties": 2},
        "minProperties": 1,
    }
    assert argument(published) == {
        "type": "object",
        "properties": {"x": {"type": "string"}},
        "description": (
            'Must not fit {"required":["y"]}. x needs z. '
            'If it fits {"required":["x"]}, then it fits {"maxProperties":2}. At least 1 key.'
        ),
    }


def test_what_depends_on_definitions_is_not_taken_over_from_another_tool() -> None:
    def tool(name: str, kind: str) -> Tool:
        argument = {"oneOf": [{"$ref": "#/$defs/T"}, {"type": "string"}]}
        schema = {"type": "object", "properties": {"a": argument}, "$defs": {"T": {"type": kind}}}
        return Tool(name, "", schema)

    one, other = tool("one", "integer"), tool("other", "string")
    converted = convert([one, other], "gemini").tools
    assert [[entry.effect for entry in each.entries] for each in converted] == [["rewritten"], ["weakened"]]


def test_arguments_that_tools_share_are_reported_for_each() -> None:
    argument = {"type": "string", "minLength": 2}
    tools = [Tool(key, "", {"type": "object", "properties": {key: copy.deepcopy(argument)}}) for key in ("x", "y")]
    assert [[entry.pointer for entry in each.entries] for each in convert(tools, "gemini").tools] == [
        ["/properties/x/minLength"],
        ["/properties/y/minLength"],
    ]
