"""What we send is what Anthropic's own client sends, and what our loopback server streams is what it reads."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from servers.provider import KEY, ask

from runtime.ai.contracts import Image, Message, Text, Tool, ToolCall

anthropic = pytest.importorskip("anthropic")
pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = Tool("read", "Read a file.", SCHEMA)
READ_WIRE = {"name": "read", "description": "Read a file.", "input_schema": SCHEMA}
THINKING = {"type": "enabled", "budget_tokens": 1024}

EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-test",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 1},
        },
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Two files."}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I read "}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "both."}},
    {"type": "content_block_stop", "index": 1},
    *[
        event
        for index, name in ((2, "toolu_a"), (3, "toolu_b"))
        for event in (
            {
                "type": "content_block_start",
                "index": index,
                "content_block": {"type": "tool_use", "id": name, "name": "read", "input": {}},
            },
            {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": ""}},
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "input_json_delta", "partial_json": '{"path": '},
            },
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "input_json_delta", "partial_json": f'"{name}.txt"}}'},
            },
            {"type": "content_block_stop", "index": index},
        )
    ],
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 30, "output_tokens_details": {"thinking_tokens": 6}},
    },
    {"type": "message_stop"},
]


@pytest.fixture
async def client(provider: Any) -> AsyncIterator[Any]:
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=provider.url, max_retries=0) as opened:
        yield opened


async def test_bodies_of_two_turns_are_those_of_the_official_client(provider, model, client):
    """The whole difference: the client sends the key as a bearer token, we as `x-api-key`, which all servers know."""
    for _ in range(4):
        provider.streams(*EVENTS)
    question = {"role": "user", "content": "What do a and b hold?"}
    fixed = {
        "model": "claude-test",
        "max_tokens": 2048,
        "system": [{"type": "text", "text": "Be brief."}],
        "thinking": THINKING,
        "tools": [READ_WIRE],
        "tool_choice": {"type": "any"},
    }
    opened = await model(options={"maxTokens": 2048, "thinking": THINKING})
    asked = [Message("system", "Be brief."), Message("user", "What do a and b hold?")]

    async with client.messages.stream(**fixed, messages=[question]) as stream:
        theirs = await stream.get_final_message()
    deltas, ours = await ask(opened, *asked, tools=[READ], tool_choice="required")

    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    results = [
        {"type": "tool_result", "tool_use_id": "toolu_a", "content": [{"type": "text", "text": "milk"}, picture]},
        {"type": "tool_result", "tool_use_id": "toolu_b", "content": "no such file", "is_error": True},
    ]
    turns = [question, {"role": "assistant", "content": theirs.content}, {"role": "user", "content": results}]
    async with client.messages.stream(**fixed, messages=turns) as stream:
        await stream.get_final_message()
    answers = [
        Message("assistant", "".join(deltas), list(ours.tool_calls), provider_data=ours.provider_data),
        Message("tool", [Text("milk"), Image("aGk=", "image/png")], tool_call_id="toolu_a", name="read"),
        Message("tool", "no such file", tool_call_id="toolu_b", name="read", is_error=True),
    ]
    await ask(opened, *asked, *answers, tools=[READ], tool_choice="required")

    first, our_first, second, our_second = provider.requests
    assert our_first.body == first.body
    assert our_second.body == second.body
    assert our_first.path == first.path
    assert our_first.headers["anthropic-version"] == first.headers["anthropic-version"]
    assert first.headers["authorization"] == f"Bearer {our_first.headers['x-api-key']}"


async def test_the_official_client_reads_of_our_streams_what_we_read(provider, model, client):
    provider.streams(*EVENTS)
    provider.streams(*EVENTS)
    request = {"model": "claude-test", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]}

    async with client.messages.stream(**request) as stream:
        theirs = await stream.get_final_message()
    deltas, ours = await ask(await model(), tools=[READ])

    thought, text, *uses = theirs.content
    assert "".join(deltas) == text.text
    assert ours.provider_data["anthropic"] == [block.to_dict() for block in theirs.content]
    assert (thought.thinking, thought.signature) == ("Two files.", "c2ln")
    assert ours.tool_calls == [ToolCall(use.id, use.name, f'{{"path": "{use.input["path"]}"}}') for use in uses]
    usage = theirs.usage
    assert ours.usage.prompt_tokens == usage.input_tokens + usage.cache_read_input_tokens
    assert ours.usage.cached_tokens == usage.cache_read_input_tokens
    assert ours.usage.completion_tokens == usage.output_tokens
    assert ours.usage.reasoning_tokens == usage.output_tokens_details.thinking_tokens
