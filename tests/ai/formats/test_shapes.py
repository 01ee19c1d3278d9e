"""Each format's shape, exactly as the provider documents it."""

import pytest

from runtime.ai import Tool
from runtime.ai.formats import FORMATS, convert
from runtime.errors import AgentError, UsageError

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
SEARCH = Tool("search", "Find things.", SCHEMA)


def test_openai_nests_the_function():
    assert convert([SEARCH], "openai").payload == [
        {"type": "function", "function": {"name": "search", "description": "Find things.", "parameters": SCHEMA}}
    ]


def test_openai_responses_is_flat_and_says_that_it_is_not_strict():
    assert convert([SEARCH], "openai-responses").payload == [
        {"type": "function", "name": "search", "description": "Find things.", "parameters": SCHEMA, "strict": False}
    ]


def test_anthropic_has_an_input_schema():
    assert convert([SEARCH], "anthropic").payload == [
        {"name": "search", "description": "Find things.", "input_schema": SCHEMA}
    ]


def test_gemini_wraps_all_declarations_in_one_tool():
    assert convert([SEARCH], "gemini").payload == [
        {
            "functionDeclarations": [
                {"name": "search", "description": "Find things.", "parametersJsonSchema": SCHEMA},
            ]
        }
    ]


def test_encoded_is_the_payload_as_json():
    assert convert([SEARCH], "anthropic").encoded == (
        b'[{"name":"search","description":"Find things.","input_schema":'
        b'{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}]'
    )


def test_an_unknown_format_names_the_known_ones():
    with pytest.raises(UsageError) as caught:
        convert([], "openapi")
    assert (caught.value.message, caught.value.hint) == (
        'there is no tool format "openapi"',
        f"the formats are: {', '.join(FORMATS)}",
    )


def test_too_many_tools_name_the_number_and_the_limit():
    tools = [Tool(f"t{number}", "", SCHEMA) for number in range(129)]
    with pytest.raises(AgentError) as caught:
        convert(tools, "openai")
    assert (caught.value.code, caught.value.message) == (
        "ERR_AGENT_TOOL_LIMIT",
        '129 tools are more than the 128 that the format "openai" takes in one request',
    )
    assert len(convert(tools, "openai", max_tools=129).tools) == 129


def test_a_second_tool_of_one_name_is_set_aside_and_the_others_stay():
    twin = Tool("search", "Other.", SCHEMA)
    other = Tool("other", "", SCHEMA)
    converted = convert([SEARCH, twin, other], "openai")
    assert [found.tool for found in converted.tools] == [SEARCH, other]
    assert [(aside.tool, aside.reason) for aside in converted.set_aside] == [
        (twin, 'another tool before it is named "search" too')
    ]
