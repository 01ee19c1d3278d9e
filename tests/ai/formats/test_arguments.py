"""Arguments: what the model wrote, held against the schema that the tool was published with."""

from typing import Any

import pytest

from runtime.ai import Tool
from runtime.ai.formats.arguments import ArgumentCheck, check, decode
from runtime.errors import ToolError


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        (" \n", {}),
        ("null", {}),
        ("{}", {}),
        ('{"a": [1, null], "b": 123456789012345678901}', {"a": [1, None], "b": 123456789012345678901}),
    ],
)
def test_text_of_a_model_is_read(text: str, arguments: dict[str, Any]) -> None:
    assert decode(text) == arguments


@pytest.mark.parametrize(
    "text", ['{"a": ', "{'a': 1}", '{"a": NaN}', "[1]", '"a"', "3", '{"a": 1} trailing', "\ud800", "[" * 100_000]
)
def test_text_that_is_no_object_is_an_error_in_words(text: str) -> None:
    with pytest.raises(ToolError) as raised:
        decode(text)
    assert raised.value.code == "ERR_TOOL_ARGUMENTS"
    assert raised.value.message.startswith("the arguments are no ")
    assert raised.value.hint == "call the tool again with one JSON object"


def test_nulls_for_optional_arguments_are_left_out() -> None:
    schema = {
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "lang": {"type": "string"},
            "cursor": {"type": ["string", "null"]},
            "opt": {"type": "object"},
            "deep": {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "list": {"type": "array", "items": {"$ref": "#/$defs/P"}}},
            },
        },
        "required": ["q"],
        "$defs": {"P": {"type": "object", "properties": {"x": {"enum": ["a"]}, "y": {}}}},
    }
    given = {
        "q": "x",
        "lang": None,
        "cursor": None,
        "opt": {"deep": None},
        "deep": {"n": None, "list": [{"x": None, "y": None}]},
        "more": None,
    }
    assert check(Tool("find", "", schema), given) == {
        "q": "x",
        "cursor": None,
        "opt": {"deep": None},
        "deep": {"list": [{"y": None}]},
        "more": None,
    }


def test_a_null_for_a_required_argument_is_an_error() -> None:
    schema = {"properties": {"q": {"type": "string"}}, "required": ["q"]}
    with pytest.raises(ToolError) as raised:
        ArgumentCheck(schema).accept("find", {"q": None})
    assert raised.value.message == 'the arguments do not fit the tool "find": /q: must be a string, found null'


def test_all_faults_are_told_at_once_in_words_and_as_data() -> None:
    schema = {
        "properties": {"limit": {"type": "integer", "maximum": 50}},
        "required": ["query"],
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    with pytest.raises(ToolError) as raised:
        ArgumentCheck(schema).accept("find", {"limit": 51})
    assert (raised.value.code, raised.value.hint) == (
        "ERR_TOOL_ARGUMENTS",
        "call the tool again with arguments that fit",
    )
    assert raised.value.message == (
        'the arguments do not fit the tool "find": /limit: must be at most 50, found 51; "query" is missing; '
        'fits none of 2 forms: "a" is missing; or "b" is missing'
    )
    assert raised.value.details == {
        "faults": [
            {"pointer": "/limit", "message": "must be at most 50, found 51"},
            {"pointer": "", "message": '"query" is missing'},
            {"pointer": "", "message": 'fits none of 2 forms: "a" is missing; or "b" is missing'},
        ]
    }


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "objekt"},
        {"properties": {"a": {"$ref": "#/$defs/none"}}},
        {"properties": {"a": {"$ref": "https://127.0.0.1:9/schema.json"}}},
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"pattern": "(?=never)"}}},
        {"required": True},
        {"not": {"type": "nonsense"}},
    ],
)
def test_what_the_schema_leaves_unclear_passes(schema: Any) -> None:
    arguments = {"a": "a" * 40 + "!"}
    assert ArgumentCheck(schema).accept("read", arguments) == arguments


def test_older_dialects_are_understood() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {
            "pair": {"items": [{"type": "string"}, {"type": "integer"}]},
            "n": {"nullable": True, "type": "int"},
        },
    }
    given = {"pair": ["a", 1], "n": None}
    assert ArgumentCheck(schema).accept("read", given) == given
    with pytest.raises(ToolError) as raised:
        ArgumentCheck(schema).accept("read", {"pair": ["a", "b"]})
    assert raised.value.message == 'the arguments do not fit the tool "read": /pair/1: must be an integer, found "b"'


def test_deep_arguments_with_a_fault_are_an_error_like_any_other() -> None:
    deep: Any = None
    for _ in range(900):
        deep = {"next": deep}
    schema = {"properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}, "required": ["n"]}
    with pytest.raises(ToolError):
        ArgumentCheck(schema).accept("t", deep)


def test_nulls_in_branches_of_branches_end_in_time() -> None:
    branches = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/e{n + 1}"}]} for n in range(30)}
    others = {f"e{n}": {**branches[f"d{n}"], "minProperties": 3} for n in range(30)}
    last = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}
    definitions = {**branches, **others, "d30": last, "e30": last}
    with pytest.raises(ToolError):
        ArgumentCheck({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions}).accept(
            "t", {"x": {"a": None}}
        )


def test_arguments_are_not_held_against_a_schema_that_no_arguments_can_fit() -> None:
    assert check(Tool("t", "", {"type": "array", "items": {"type": "string"}}), {"a": 1}) == {"a": 1}
