"""The base case of every format, what a conversion reports, and that it changes nothing of its input."""

import copy
import json
import subprocess
import sys
from typing import Any

import pytest

from runtime.ai import Tool
from runtime.ai.formats import FORMATS, Entry, Memory, Rename, convert
from runtime.errors import ToolError, UsageError

SCHEMA_OF = {
    "openai": lambda definition: definition["function"]["parameters"],
    "openai-responses": lambda definition: definition["parameters"],
    "anthropic": lambda definition: definition["input_schema"],
    "gemini": lambda definition: definition["parametersJsonSchema"],
    "gemini-parameters": lambda definition: definition["parameters"],
}
NOTHING = {"type": "object", "properties": {}, "required": []}


def offer(schema: Any, format: str) -> Any:
    [tool] = convert([Tool("t", "", schema)], format).tools
    return SCHEMA_OF[format](tool.definition)


def entries(schema: Any, format: str) -> list[Entry]:
    [tool] = convert([Tool("t", "", schema)], format).tools
    return list(tool.entries)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        "nonsense",
        [],
        {"type": "object"},
        {"type": "object", "properties": None, "required": None},
        {"type": "string"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
        {"$ref": "#"},
    ],
)
def test_nothing_and_no_object_are_the_empty_object(schema: Any, format: str) -> None:
    assert offer(schema, format) == NOTHING


@pytest.mark.parametrize("format", FORMATS)
def test_an_object_keeps_properties_required_and_description(format: str) -> None:
    schema = {
        "type": "object",
        "properties": {"q": {"type": "string", "description": "words"}},
        "required": ["q"],
        "description": "What to look for.",
    }
    assert offer(schema, format) == schema


@pytest.mark.parametrize("format", FORMATS)
def test_anything_else_is_wrapped_as_an_object_and_that_is_reported(format: str) -> None:
    schema = {"type": "array", "description": "numbers", "items": {"type": "integer"}}
    assert offer(schema, format) == {**NOTHING, "description": "numbers"}
    assert entries(schema, format) == [
        Entry("/type", "rewritten", "arguments are an object, whatever else the schema says")
    ]


def test_a_schema_without_a_flaw_is_shared_and_not_reported() -> None:
    schema = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": []}
    assert offer(schema, "openai") is schema
    assert entries(schema, "openai") == []


def test_the_input_is_never_changed() -> None:
    schema = {
        "oneOf": [{"$ref": "#/definitions/A"}, {"type": "null"}],
        "definitions": {"A": {"properties": {"$x": {"const": 1}, "l": {"type": "array"}, "b": True}, "nullable": True}},
    }
    before = copy.deepcopy(schema)
    for format in FORMATS:
        convert([Tool("t", "d", schema)], format)
    assert schema == before


def test_two_conversions_are_equal_and_a_memory_changes_nothing() -> None:
    tools = [Tool(f"t{n}", "d", {"properties": {"a": {"const": n % 2}, "b": {"enum": ["x"]}}}) for n in range(4)]
    memory = Memory()
    for format in FORMATS:
        first, again = convert(tools, format), convert(tools, format, memory=memory)
        assert first.encoded == again.encoded
        assert [tool.entries for tool in first.tools] == [tool.entries for tool in again.tools]


def test_one_odd_tool_leaves_the_others_alone() -> None:
    odd = Tool("odd", "", {"properties": {"a": "nonsense", "b": {"type": "what", "required": 5, "items": 3}}})
    good = Tool("good", "", NOTHING)
    for format in FORMATS:
        assert [tool.tool for tool in convert([odd, good], format).tools] == [odd, good]


def test_entries_point_into_the_published_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a/b": {"$ref": "#/definitions/X"},
            "c": {"type": "object", "properties": {"d": {"type": "any"}}},
        },
        "definitions": {"X": {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(?=a)"}}}},
    }
    assert entries(schema, "openai") == [
        Entry("/properties/c/properties/d/type", "dropped", '"type" has a value that says nothing; left out'),
        Entry(
            "/definitions/X/properties/s/pattern",
            "weakened",
            "OpenAI does not take the regular expression; only stated in words",
        ),
    ]


def test_a_tool_that_cannot_be_said_is_set_aside_with_the_reason() -> None:
    part: dict[str, Any] = {"type": "string"}
    for _ in range(12):  # without references, each level would have to stand in both branches
        part = {"type": "object", "properties": {"in": part}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    wide, plain = Tool("wide", "", {"properties": {"root": part}}), Tool("plain", "", NOTHING)
    converted = convert([wide, plain], "gemini-parameters")
    assert [tool.tool for tool in converted.tools] == [plain]
    assert [(aside.tool, aside.reason) for aside in converted.set_aside] == [
        (wide, "it is too large for `parameters`, where each part has to be written out")
    ]


def test_references_that_multiply_are_written_out_as_far_as_there_is_room() -> None:
    levels = {
        f"L{n}": {"type": "object", "properties": {key: {"$ref": f"#/$defs/L{n + 1}"} for key in "abcdefgh"}}
        for n in range(9)
    }
    last = {"type": "string", "description": "Deepest text"}
    schema = {"properties": {"root": {"$ref": "#/$defs/L0"}}, "$defs": {**levels, "L9": last}}
    for format in FORMATS:
        converted = convert([Tool("wide", "", schema)], format)
        assert not converted.set_aside
        assert b"Deepest text" in converted.encoded
        assert len(converted.encoded) < (12 if format == "gemini-parameters" else 3) * len(json.dumps(schema))
    [tool] = converted.tools
    assert tool.definition["description"] == "Deeper inside than shown: Deepest text"
    a = tool.definition["parameters"]["properties"]["root"]["properties"]["a"]
    assert (a["type"], list(a["properties"])) == ("object", list("abcdefgh"))
    assert {entry.message for entry in tool.entries} == {
        "`parameters` has no references, and no room for more of them; any such value is taken from here on"
    }


def test_what_is_renamed_is_in_the_table_and_goes_back() -> None:
    schema = {
        "type": "object",
        "properties": {"$top": {"type": "integer"}, "şehir": {}, "ok": {}},
        "required": ["$top"],
    }
    converted = convert([Tool("list", "", schema)], "anthropic")
    [tool] = converted.tools
    assert tool.definition["input_schema"] == {
        "type": "object",
        "properties": {
            "_top": {"type": "integer", "description": 'The tool calls this "$top".'},
            "sehir": {"description": 'The tool calls this "şehir".'},
            "ok": {},
        },
        "required": ["_top"],
    }
    assert tool.renames == [Rename("", "$top", "_top"), Rename("", "şehir", "sehir")]
    assert converted.mapping == [
        {
            "name": "list",
            "tool": "list",
            "renames": [{"path": "", "from": "$top", "to": "_top"}, {"path": "", "from": "şehir", "to": "sehir"}],
        }
    ]
    assert converted.restore("list", {"_top": 1, "sehir": "İzmir", "ok": 2})[1] == {
        "$top": 1,
        "şehir": "İzmir",
        "ok": 2,
    }


def test_a_fault_names_the_key_that_the_model_knows() -> None:
    schema = {"type": "object", "properties": {"$top": {"type": "integer"}}, "required": ["$top"]}
    converted = convert([Tool("list", "", schema)], "anthropic")
    assert converted.accept("list", {"_top": 3}) == (converted.tools[0].tool, {"$top": 3})
    for arguments, words in (({}, '"_top" is missing'), ({"_top": "x"}, '/_top: must be an integer, found "x"')):
        with pytest.raises(ToolError) as caught:
            converted.accept("list", arguments)
        assert caught.value.message == f'the arguments do not fit the tool "list": {words}'


def test_an_unknown_tool_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ToolError) as caught:
        convert([Tool("a", "", {}), Tool("b", "", {})], "openai").restore("c", {})
    assert (caught.value.code, caught.value.message, caught.value.hint) == (
        "ERR_TOOL_UNKNOWN",
        'there is no tool named "c"',
        "the tools are: a, b",
    )


def test_a_format_without_a_strict_form_says_so() -> None:
    with pytest.raises(UsageError) as caught:
        convert([], "gemini", strict=True)
    assert caught.value.message == 'the format "gemini" has no strict form'


def test_converting_imports_no_provider_and_nothing_heavy() -> None:
    code = """
import sys
from runtime.ai import Tool
from runtime.ai.formats import FORMATS, convert
for name in FORMATS:
    convert([Tool("a.b", "", {"oneOf": [{"properties": {"$a": {"const": 1}}}]})], name).accept("a_b", {})
heavy = {"mcp", "pydantic", "httpx2", "jsonschema", "openai", "anthropic", "google", "cel_expr_python", "asyncio"}
print(sorted(heavy & sys.modules.keys()))
"""
    code = code.replace('"a_b"', 'convert([Tool("a.b", "", {})], name).tools[0].name')
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "[]\n"
