"""Arguments: what the model wrote, held against the tool's own schema."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from runtime.ai.arguments import ArgumentCheck, read_arguments
from runtime.ai.quick_check import make_check
from runtime.errors import ToolError


@pytest.mark.parametrize(
    ("text", "arguments"), [("", {}), (" \n", {}), ("null", {}), ("{}", {}), ('{"a": [1, null]}', {"a": [1, None]})]
)
def test_text_of_a_model_is_read(text: str, arguments: dict[str, Any]) -> None:
    assert read_arguments(text) == arguments


@pytest.mark.parametrize(
    "text", ['{"a": ', "{'a': 1}", "[1]", '"a"', "3", '{"a": 1} trailing', "\ud800", "[" * 100_000]
)
def test_text_that_is_no_object_is_an_error_in_words(text: str) -> None:
    with pytest.raises(ToolError) as raised:
        read_arguments(text)

    assert raised.value.code == "ERR_TOOL_ARGUMENTS"
    assert raised.value.message.startswith("the arguments are no ")


@pytest.mark.parametrize(
    ("schema", "arguments", "words"),
    [
        ({"required": ["a", "b"]}, {"a": 1}, '"b" is missing'),
        ({"properties": {"a": {"type": "integer"}}}, {"a": "x"}, 'a: must be integer, and is "x"'),
        ({"properties": {"a": {"type": ["integer", "null"]}}}, {"a": True}, "a: must be integer or null, and is true"),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"b": 1}, 'takes no property "b"'),
        ({"properties": {"a": {"enum": ["x", None]}}}, {"a": 1}, 'a: must be one of ["x",null], and is 1'),
        ({"properties": {"a": {"items": {"minimum": 3}}}}, {"a": [4, 2]}, "a[1]: must satisfy `minimum`: 3, and is 2"),
        ({"properties": {"a": {"pattern": "^x"}}}, {"a": "y"}, 'a: must satisfy `pattern`: "^x", and is "y"'),
    ],
)
def test_arguments_that_do_not_fit_are_an_error_that_says_where(
    schema: dict[str, Any], arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ToolError) as raised:
        ArgumentCheck(schema).accept("read", arguments)

    assert raised.value.code == "ERR_TOOL_ARGUMENTS"
    assert raised.value.message == f'the arguments do not fit the schema of "read": {words}'


def test_nulls_for_optional_arguments_are_left_out() -> None:
    schema = {
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "lang": {"type": "string"},
            "cursor": {"type": ["string", "null"]},
            "opt": {"type": "object"},
        },
        "required": ["q"],
    }

    accepted = ArgumentCheck(schema).accept("find", {"q": "x", "lang": None, "cursor": None, "opt": {"deep": None}})

    assert accepted == {"q": "x", "cursor": None, "opt": {"deep": None}}


def test_null_for_a_required_argument_is_an_error() -> None:
    schema = {"properties": {"q": {"type": "string"}}, "required": ["q"]}

    with pytest.raises(ToolError, match="q: must be string, and is null"):
        ArgumentCheck(schema).accept("find", {"q": None})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"properties": {"a": {"$ref": "#/$defs/none"}}},
        {"properties": {"a": {"$ref": "https://127.0.0.1:9/schema.json"}}},
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"pattern": "^(a+)+$"}}},
        {"patternProperties": {"^(a+)+$": {"type": "integer"}}},
        {"required": True},
    ],
)
def test_schema_that_is_at_fault_or_costly_leaves_the_check_to_the_server(schema: dict[str, Any]) -> None:
    arguments = {"a": "a" * 40 + "!", "a" * 40 + "!": "x"}

    assert ArgumentCheck(schema).accept("read", arguments) == arguments


def test_draft_that_the_schema_names_is_the_one_that_holds() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"pair": {"items": [{"type": "string"}, {"type": "integer"}]}},
    }

    assert ArgumentCheck(schema).accept("read", {"pair": ["a", 1]}) == {"pair": ["a", 1]}
    with pytest.raises(ToolError, match="pair"):
        ArgumentCheck(schema).accept("read", {"pair": ["a", "b"]})


def test_arguments_that_fit_need_no_schema_library() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/A"},
            "b": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"A": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}, "n": {"const": "x"}}}},
    }
    code = f"""
import sys
from runtime.ai.arguments import ArgumentCheck
ArgumentCheck({schema!r}).accept("read", {{"a": {{"next": {{"n": "x"}}}}, "b": None}})
print([name for name in ("jsonschema", "referencing", "re2", "httpx2") if name in sys.modules])
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)

    assert done.stdout == "[]\n"


_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, -2.0]), st.sampled_from("abc")
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=6,
)
_TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    small = st.integers(0, 2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(_TYPES, st.lists(_TYPES, min_size=1, max_size=3, unique=True)),
            "enum": st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True),
            "const": st.sampled_from("ab"),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "additionalProperties": st.one_of(st.booleans(), inner),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "$ref": st.sampled_from(["#/$defs/a", "#/$defs/b"]),
            "minimum": small,
            "exclusiveMaximum": small,
            "minLength": small,
            "maxItems": small,
            "description": st.just("d"),
            "not": inner,
        },
    )


_PARTS = st.recursive(st.one_of(st.just(True), _schemas(st.just({}))), _schemas, max_leaves=4)


@given(_PARTS, _PARTS, _PARTS, _VALUES)
def test_quick_check_agrees_with_the_library_wherever_it_has_an_opinion(root: Any, a: Any, b: Any, value: Any) -> None:
    schema = {"allOf": [root], "$defs": {"a": a, "b": b}}
    check = make_check(schema)
    if check is None:
        return
    try:
        expected = Draft202012Validator(schema).is_valid(value)
    except RecursionError:
        return

    assert check(value) == expected, json.dumps([schema, value])
