"""The root of a tool's schema: one plain object, whatever was published."""

import json
from typing import Any

import pytest

from runtime.ai import Tool
from runtime.ai.formats import Entry, convert
from runtime.ai.formats.conversion import ConvertedTool


def offer(schema: Any) -> ConvertedTool:
    [tool] = convert([Tool("t", "Does it.", schema)], "anthropic").tools
    return tool


def flat(schema: Any) -> Any:
    return offer(schema).definition["input_schema"]


def test_a_reference_is_unfolded_and_what_it_needs_stays() -> None:
    schema = {
        "$ref": "#/$defs/Form",
        "$defs": {
            "Form": {"type": "object", "properties": {"to": {"$ref": "#/$defs/Place"}}, "required": ["to"]},
            "Place": {"type": "string"},
            "Unused": {"type": "integer"},
        },
    }
    assert flat(schema) == {
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/Place"}},
        "required": ["to"],
        "$defs": {"Place": {"type": "string"}},
    }


def test_all_of_is_merged() -> None:
    schema = {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"], "description": "One."},
            {"properties": {"a": {"type": "integer", "minimum": 1}, "b": {}}, "required": ["b"], "description": "Two."},
        ]
    }
    assert flat(schema) == {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 1}, "b": {}},
        "required": ["a", "b"],
        "description": "One.\nTwo.",
    }
    assert list(offer(schema).entries) == [Entry("/allOf", "rewritten", '"allOf" is merged into the object')]


def test_one_of_is_united_and_said_in_words() -> None:
    schema = {
        "oneOf": [
            {
                "type": "object",
                "description": "A file",
                "properties": {"kind": {"const": "file", "description": "from disk"}, "path": {"type": "string"}},
                "required": ["kind", "path"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"kind": {"const": "page"}, "path": {"type": "integer"}, "deep": {"type": "boolean"}},
                "required": ["kind"],
                "additionalProperties": False,
            },
            {"type": "null"},
        ]
    }
    tool = offer(schema)
    assert tool.definition == {
        "name": "t",
        "description": (
            "Does it.\n\n"
            "The arguments take exactly one of these forms:\n"
            '- A file: kind = "file"; with path\n'
            '- kind = "page"; optional path, deep'
        ),
        "input_schema": {
            "type": "object",
            "properties": {
                "kind": {"enum": ["file", "page"], "description": '"file": from disk'},
                "path": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "deep": {"type": "boolean"},
            },
            "required": ["kind"],
            "additionalProperties": False,
        },
    }
    assert [(entry.pointer, entry.effect) for entry in tool.entries] == [("/oneOf", "weakened")]


def test_branches_that_only_require_are_said_in_words() -> None:
    properties = {"id": {"type": "string"}, "name": {"type": "string"}}
    tool = offer({"type": "object", "properties": properties, "anyOf": [{"required": ["id"]}, {"required": ["name"]}]})
    assert tool.definition == {
        "name": "t",
        "description": "Does it.\n\nThe arguments take at least one of these forms:\n- with id\n- with name",
        "input_schema": {"type": "object", "properties": properties, "required": []},
    }


def test_a_branch_narrows_an_own_property_only_if_all_do() -> None:
    own = {"mode": {"type": "string", "description": "Mode"}}
    some = [{"properties": {"mode": {"const": "a", "description": "A!"}}}, {"properties": {"x": {}}}]
    every = [{"properties": {"mode": {"const": "a"}}}, {"properties": {"mode": {"const": "b"}}}]
    assert flat({"properties": own, "anyOf": some})["properties"]["mode"] == {
        "type": "string",
        "description": "Mode\nA!",
    }
    assert flat({"properties": own, "anyOf": every})["properties"]["mode"] == {
        "type": "string",
        "description": "Mode",
        "enum": ["a", "b"],
    }


def test_what_only_some_branches_say_of_an_own_property_is_shown() -> None:
    shape = {"type": "object", "properties": {"x": {"description": "X"}}}
    branches = [{"properties": {"p": shape}, "required": ["p"]}, {"required": ["q"]}]
    assert flat({"properties": {"p": {"description": "P"}}, "oneOf": branches})["properties"]["p"] == {
        "description": "P",
        "anyOf": [shape, {}],
    }


def test_only_one_branch_that_takes_objects_is_no_choice() -> None:
    branch = {"type": "object", "properties": {"a": {}}, "required": ["a"]}
    assert flat({"anyOf": [{"type": "null"}, branch, False]}) == branch


def test_closed_parts_do_not_close_the_whole_against_each_other() -> None:
    part = {"type": "object", "additionalProperties": False}
    schema = {"allOf": [{**part, "properties": {"a": {}}}, {**part, "properties": {"b": {}}}]}
    assert flat(schema) == {
        "type": "object",
        "properties": {"a": {}, "b": {}},
        "required": [],
        "additionalProperties": False,
    }


def test_unevaluated_properties_close_what_all_of_has_opened() -> None:
    schema = {"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}, "unevaluatedProperties": False}
    assert flat(schema) == {
        "type": "object",
        "properties": {"b": {}, "a": {}},
        "required": [],
        "additionalProperties": False,
    }


def test_a_required_name_that_is_not_defined_is_defined() -> None:
    assert flat({"type": "object", "properties": {}, "required": ["a"], "additionalProperties": False}) == {
        "type": "object",
        "properties": {"a": {}},
        "required": ["a"],
        "additionalProperties": False,
    }


def test_combinators_inside_of_arguments_stay() -> None:
    inner = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    assert flat({"type": "object", "properties": {"a": inner}, "required": []})["properties"]["a"] is inner


def test_a_recursive_root_keeps_its_meaning() -> None:
    schema = {"type": "object", "properties": {"v": {"type": "string"}, "next": {"$ref": "#"}}, "required": ["v"]}
    properties = {"v": {"type": "string"}, "next": {"$ref": "#/$defs/root"}}
    assert flat(schema) == {
        "type": "object",
        "properties": properties,
        "required": ["v"],
        "$defs": {"root": {"type": "object", "properties": properties, "required": ["v"]}},
    }


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
@pytest.mark.parametrize("is_same", [True, False])
def test_combinators_that_multiply_stay_small(word: str, is_same: bool) -> None:
    defs: dict[str, Any] = {"d200": {"type": "object", "properties": {"a": {}}}}
    for n in range(200):
        parts = [{"allOf": [{"$ref": f"#/$defs/d{n + 1}"}]} for _ in range(2)]
        for index, part in enumerate(parts):
            if not is_same:
                part["properties"] = {"a": {"minLength": n, "maxLength": 1000 - index}, f"p{n}{index}": {"const": n}}
        defs[f"d{n}"] = {word: parts}
    tool = offer({"$ref": "#/$defs/d0", "$defs": defs})
    assert tool.definition["input_schema"]["type"] == "object"
    assert len(json.dumps(tool.definition)) < 200_000


def test_no_arguments_that_could_fit_are_any_arguments() -> None:
    tool = offer({"allOf": [{"type": "object"}, {"type": "string"}]})
    assert tool.definition["input_schema"] == {"type": "object", "properties": {}, "required": []}
    assert list(tool.entries)[-1] == Entry("", "weakened", "no arguments can fit the schema, so any are taken")
