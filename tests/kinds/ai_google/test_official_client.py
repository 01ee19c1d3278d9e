"""What we send is what Google's own client sends, and what our loopback server streams is what it reads."""

import re
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from servers.provider import KEY, ask

from runtime.ai.contracts import Image, Message, Text, Tool, ToolCall

genai = pytest.importorskip("google.genai")
pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = Tool("read", "Read a file.", SCHEMA)


def chunk(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": list(parts)}}], **more}


CHUNKS = [
    chunk({"text": "Two files.", "thought": True}),
    chunk({"text": "I read both."}, usageMetadata={"promptTokenCount": 10}),
    chunk({"functionCall": {"id": "a", "name": "read", "args": {"path": "a.txt"}}, "thoughtSignature": "c2lnbmVk"}),
    chunk({"functionCall": {"name": "read", "args": {"path": "b.txt"}}}),
    {
        "candidates": [{"index": 0, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 10,
            "cachedContentTokenCount": 4,
            "candidatesTokenCount": 20,
            "thoughtsTokenCount": 6,
            "totalTokenCount": 36,
        },
    },
]


@pytest.fixture
def client(provider: Any) -> Iterator[Any]:
    with genai.Client(api_key=KEY, http_options=genai.types.HttpOptions(base_url=provider.url)) as opened:
        yield opened


def generate(client: Any, contents: list[Any], config: Any) -> list[Any]:
    return list(client.models.generate_content_stream(model="gemini-3-test", contents=contents, config=config))


def camel_case(value: Any) -> Any:
    if isinstance(value, list):
        return [camel_case(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {re.sub("_(.)", lambda found: found[1].upper(), key): camel_case(each) for key, each in value.items()}


async def test_bodies_of_two_turns_are_those_of_the_official_client(provider, model, client):
    """The whole difference: the client spells some fields in snake_case, which the API takes as well."""
    types = genai.types
    for _ in range(4):
        provider.streams(*CHUNKS, line_end="\r\n")
    config = types.GenerateContentConfig(
        system_instruction=types.Content(parts=[types.Part(text="Be brief.")]),
        temperature=0.5,
        max_output_tokens=2048,
        thinking_config=types.ThinkingConfig(include_thoughts=True),
        safety_settings=[types.SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_NONE")],
        tools=[
            types.Tool(
                function_declarations=[
                    types.FunctionDeclaration(name="read", description="Read a file.", parameters_json_schema=SCHEMA)
                ]
            )
        ],
        tool_config=types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode="ANY")),
    )
    options = {
        "temperature": 0.5,
        "maxOutputTokens": 2048,
        "thinkingConfig": {"includeThoughts": True},
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    }
    opened = await model(options=options)
    asked = [Message("system", "Be brief."), Message("user", "What do a and b hold?")]
    question = types.Content(role="user", parts=[types.Part(text="What do a and b hold?")])

    chunks = await anyio.to_thread.run_sync(generate, client, [question], config)
    deltas, ours = await ask(opened, *asked, tools=[READ], tool_choice="required")

    said = [part for each in chunks for part in (each.candidates[0].content or types.Content(parts=[])).parts]
    picture = types.FunctionResponsePart(inline_data=types.FunctionResponseBlob(mime_type="image/png", data=b"hi"))
    results = [
        types.FunctionResponse(id="a", name="read", response={"output": "milk\n[Image: image/png]"}, parts=[picture]),
        types.FunctionResponse(name="read", response={"error": "no such file"}),
    ]
    answer = types.Content(role="user", parts=[types.Part(function_response=each) for each in results])
    turns = [question, types.Content(role="model", parts=said), answer]
    await anyio.to_thread.run_sync(generate, client, turns, config)
    calls = [ToolCall(f"call_{place}", each.name, each.arguments) for place, each in enumerate(ours.tool_calls)]
    answers = [
        Message("assistant", "".join(deltas), calls, provider_data=ours.provider_data),
        Message("tool", [Text("milk"), Image("aGk=", "image/png")], tool_call_id="call_0", name="read"),
        Message("tool", "no such file", tool_call_id="call_1", name="read", is_error=True),
    ]
    await ask(opened, *asked, *answers, tools=[READ], tool_choice="required")

    first, our_first, second, our_second = provider.requests
    assert our_first.body == camel_case(first.body)
    assert our_second.body == camel_case(second.body)
    assert our_first.path == first.path
    assert our_first.headers["x-goog-api-key"] == first.headers["x-goog-api-key"]


async def test_the_official_client_reads_of_our_streams_what_we_read(provider, model, client):
    provider.streams(*CHUNKS, line_end="\r\n")
    provider.streams(*CHUNKS, line_end="\r\n")

    chunks = await anyio.to_thread.run_sync(generate, client, ["hi"], None)
    deltas, ours = await ask(await model(), tools=[READ])

    parts = [part for each in chunks if each.candidates[0].content for part in each.candidates[0].content.parts]
    assert [part.text for part in parts if part.text and not part.thought] == deltas
    calls = [part.function_call for part in parts if part.function_call]
    assert ours.tool_calls == [
        ToolCall(each.id or "", each.name, f'{{"path":"{each.args["path"]}"}}') for each in calls
    ]
    assert parts[2].thought_signature == b"signed"
    assert ours.provider_data["gemini"][2]["thoughtSignature"] == "c2lnbmVk"
    usage = chunks[-1].usage_metadata
    assert ours.usage.prompt_tokens == usage.prompt_token_count
    assert ours.usage.cached_tokens == usage.cached_content_token_count
    assert ours.usage.completion_tokens == usage.candidates_token_count + usage.thoughts_token_count
    assert ours.usage.total_tokens == usage.total_token_count
