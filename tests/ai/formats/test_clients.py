"""Each definition loads into the type that the provider's own client has for it."""

from typing import Any

import pytest

from runtime.ai import Tool
from runtime.ai.formats import convert

TOOLS = [
    Tool("plain", "Plain.", {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}),
    Tool("odd.name", "", None),
    Tool(
        "rich",
        "Rich.",
        {
            "oneOf": [
                {
                    "properties": {"kind": {"const": "a"}, "$n": {"type": "integer", "exclusiveMinimum": 0}},
                    "required": ["kind"],
                },
                {"properties": {"kind": {"const": "b"}, "tree": {"$ref": "#/definitions/Tree"}}, "required": ["kind"]},
            ],
            "definitions": {
                "Tree": {
                    "type": ["object", "null"],
                    "properties": {"children": {"type": "array", "items": {"$ref": "#/definitions/Tree"}}, "v": True},
                    "patternProperties": {"^x-": {"enum": [1, "a", None]}},
                    "additionalProperties": False,
                }
            },
        },
    ),
    Tool(
        "closed",
        "Closed.",
        {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False},
    ),
]


@pytest.mark.filterwarnings("ignore")  # of the clients' own making
@pytest.mark.parametrize("strict", [False, True])
def test_openai_chat(strict: bool) -> None:
    from openai.types.chat import ChatCompletionFunctionToolParam
    from pydantic import TypeAdapter

    adapter = TypeAdapter(ChatCompletionFunctionToolParam)
    for definition in convert(TOOLS, "openai", strict=strict).payload:
        assert adapter.validate_python(definition) == definition


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("strict", [False, True])
def test_openai_responses(strict: bool) -> None:
    from openai.types.responses import FunctionTool, FunctionToolParam
    from pydantic import TypeAdapter

    adapter = TypeAdapter(FunctionToolParam)
    for definition in convert(TOOLS, "openai-responses", strict=strict).payload:
        assert adapter.validate_python(definition) == definition
        assert FunctionTool.model_validate(definition).model_dump(exclude_unset=True) == definition


@pytest.mark.filterwarnings("ignore")
def test_anthropic() -> None:
    from anthropic.types import ToolParam
    from pydantic import TypeAdapter

    adapter = TypeAdapter(ToolParam)
    for definition in convert(TOOLS, "anthropic").payload:
        assert adapter.validate_python(definition) == definition


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("format", "field"), [("gemini", "parameters_json_schema"), ("gemini-parameters", "parameters")]
)
def test_gemini(format: str, field: str) -> None:
    from google.genai import types

    [payload] = convert(TOOLS, format).payload
    loaded: Any = types.Tool.model_validate(payload)
    assert [each.name for each in loaded.function_declarations] == [
        each["name"] for each in payload["functionDeclarations"]
    ]
    assert all(getattr(each, field) is not None for each in loaded.function_declarations)
