"""What we send is what OpenAI's own client sends, and what our loopback server streams is what it reads."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from servers.provider import KEY, ask

from runtime.ai.contracts import Image, Message, Text, Tool, ToolCall

openai = pytest.importorskip("openai")
pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = Tool("read", "Read a file.", SCHEMA)
FUNCTION = {"name": "read", "description": "Read a file.", "parameters": SCHEMA}
PICTURE = "data:image/png;base64,aGk="
CALLS = [ToolCall("call_a", "read", '{"path": "a.txt"}'), ToolCall("call_b", "read", '{"path": "b.txt"}')]
ASKED = [Message("system", "Be brief."), Message("user", "What do a and b hold?")]
ANSWERS = [
    Message("tool", [Text("milk"), Image("aGk=", "image/png")], tool_call_id="call_a", name="read"),
    Message("tool", "no such file", tool_call_id="call_b", name="read", is_error=True),
]


@pytest.fixture
async def client(provider: Any) -> AsyncIterator[Any]:
    async with openai.AsyncOpenAI(api_key=KEY, base_url=provider.url, max_retries=0) as opened:
        yield opened


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test", "choices": [choice]}


def fragment(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    name = {"name": more.pop("name")} if "name" in more else {}
    return {"index": index, "function": {"arguments": arguments, **name}, **more}


CHUNKS = [
    chunk(role="assistant", content=""),
    chunk(content="I read "),
    chunk(content="both."),
    chunk(tool_calls=[fragment(0, "", id="call_a", type="function", name="read")]),
    chunk(tool_calls=[fragment(0, '{"path": ')]),
    chunk(tool_calls=[fragment(0, '"a.txt"}')]),
    chunk(tool_calls=[fragment(1, '{"path": "b.txt"}', id="call_b", type="function", name="read")]),
    chunk("tool_calls"),
    {
        **chunk(),
        "choices": [],
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 20,
            "total_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 6},
        },
    },
]


async def test_chat_bodies_of_two_turns_are_those_of_the_official_client(provider, model, client):
    for _ in range(4):
        provider.chunks(*CHUNKS)
    fixed = {
        "model": "gpt-test",
        "max_completion_tokens": 9,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": FUNCTION}],
        "tool_choice": "required",
    }
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What do a and b hold?"},
    ]
    opened = await model(options={"maxCompletionTokens": 9})

    async with client.chat.completions.stream(**fixed, messages=messages) as stream:
        theirs = (await stream.get_final_completion()).choices[0].message
    deltas, ours = await ask(opened, *ASKED, tools=[READ], tool_choice="required")

    calls = [call.to_dict() for call in theirs.tool_calls]
    for call in calls:
        del call["function"]["parsed_arguments"]  # what the client's `stream` adds for its own caller
    messages += [
        {"role": "assistant", "content": theirs.content, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_a", "content": "milk\n[image 1 attached below]"},
        {"role": "tool", "tool_call_id": "call_b", "content": "Error: no such file"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "[image 1]"},
                {"type": "image_url", "image_url": {"url": PICTURE}},
            ],
        },
    ]
    async with client.chat.completions.stream(**fixed, messages=messages) as stream:
        await stream.get_final_completion()
    turn = Message("assistant", "".join(deltas), list(ours.tool_calls), provider_data=ours.provider_data)
    await ask(opened, *ASKED, turn, *ANSWERS, tools=[READ], tool_choice="required")

    first, our_first, second, our_second = provider.requests
    assert our_first.body == first.body
    assert our_second.body == without(second.body, "index")
    assert our_first.path == first.path
    assert our_first.headers["authorization"] == first.headers["authorization"]


def without(value: Any, field: str) -> Any:
    if isinstance(value, list):
        return [without(each, field) for each in value]
    return {k: without(v, field) for k, v in value.items() if k != field} if isinstance(value, dict) else value


async def test_the_official_client_reads_of_our_chat_streams_what_we_read(provider, model, client):
    provider.chunks(*CHUNKS)
    provider.chunks(*CHUNKS)
    messages = [{"role": "user", "content": "hi"}]

    options = {"include_usage": True}
    async with client.chat.completions.stream(model="gpt-test", messages=messages, stream_options=options) as stream:
        theirs = await stream.get_final_completion()
    deltas, ours = await ask(await model(), tools=[READ])

    message = theirs.choices[0].message
    assert "".join(deltas) == message.content
    assert ours.tool_calls == CALLS
    assert [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls] == [
        (call.id, call.name, call.arguments) for call in CALLS
    ]
    assert ours.usage.prompt_tokens == theirs.usage.prompt_tokens
    assert ours.usage.completion_tokens == theirs.usage.completion_tokens
    assert ours.usage.cached_tokens == theirs.usage.prompt_tokens_details.cached_tokens
    assert ours.usage.reasoning_tokens == theirs.usage.completion_tokens_details.reasoning_tokens


OUTPUT: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "I read both.", "annotations": []}],
    },
    *[
        {
            "type": "function_call",
            "id": f"fc_{call.id}",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "status": "completed",
        }
        for call in CALLS
    ],
]
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "gpt-test",
    "output": OUTPUT,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 10,
        "output_tokens": 20,
        "total_tokens": 30,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 6},
    },
}


def events() -> list[dict[str, Any]]:
    """A stream as the API sends it: each item added, in fragments, done."""
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "output": [], "usage": None}}
    ]
    for index, each in enumerate(OUTPUT):
        empty = {"reasoning": {}, "message": {"content": []}, "function_call": {"arguments": ""}}[each["type"]]
        told.append({"type": "response.output_item.added", "output_index": index, "item": {**each, **empty}})
        place = {"output_index": index, "item_id": each["id"]}
        if each["type"] == "message":
            (part,) = each["content"]
            start = {"type": "response.content_part.added", "content_index": 0, "part": {**part, "text": ""}}
            told.append({**start, **place})
            told += [
                {"type": "response.output_text.delta", "content_index": 0, "delta": piece, "logprobs": [], **place}
                for piece in ("I read ", "both.")
            ]
        elif each["type"] == "function_call":
            told += [
                {"type": "response.function_call_arguments.delta", "delta": piece, **place}
                for piece in (each["arguments"][:5], each["arguments"][5:])
            ]
        told.append({"type": "response.output_item.done", "output_index": index, "item": each})
    told.append({"type": "response.completed", "response": RESPONSE})
    return [{**event, "sequence_number": number} for number, event in enumerate(told)]


async def read_whole(client: Any, **request: Any) -> Any:
    """The response of a stream: as its last event has it."""
    async with await client.responses.create(**request, stream=True) as stream:
        told = [event async for event in stream]
    return told[-1].response


@pytest.mark.parametrize("store", [True, False])
async def test_responses_bodies_of_two_turns_are_those_of_the_official_client(provider, model, client, store):
    """The whole difference: where nothing is stored, items go back without ids that the provider does not know."""
    for _ in range(4):
        provider.chunks(*events(), done=False)
    fixed = {
        "model": "gpt-test",
        "max_output_tokens": 9,
        "store": store,
        "tools": [{"type": "function", **FUNCTION, "strict": False}],
        "tool_choice": "required",
    }
    items: list[Any] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What do a and b hold?"},
    ]
    opened = await model(api="responses", options={"maxOutputTokens": 9, "store": store})

    theirs = await read_whole(client, **fixed, input=items)
    deltas, ours = await ask(opened, *ASKED, tools=[READ], tool_choice="required")

    image = {"type": "input_image", "detail": "auto", "image_url": PICTURE}
    items += [
        *theirs.output,
        {
            "type": "function_call_output",
            "call_id": "call_a",
            "output": [{"type": "input_text", "text": "milk"}, image],
        },
        {"type": "function_call_output", "call_id": "call_b", "output": "Error: no such file"},
    ]
    await read_whole(client, **fixed, input=items)
    turn = Message("assistant", "".join(deltas), list(ours.tool_calls), provider_data=ours.provider_data)
    await ask(opened, *ASKED, turn, *ANSWERS, tools=[READ], tool_choice="required")

    first, our_first, second, our_second = provider.requests
    assert our_first.body == first.body
    assert our_second.body == (second.body if store else without(second.body, "id"))
    assert our_first.path == first.path


async def test_the_official_client_reads_of_our_responses_what_we_read(provider, model, client):
    provider.chunks(*events(), done=False)
    provider.chunks(*events(), done=False)

    async with client.responses.stream(model="gpt-test", input="hi") as stream:
        theirs = await stream.get_final_response()
    deltas, ours = await ask(await model(api="responses"), tools=[READ])

    assert "".join(deltas) == theirs.output_text
    assert ours.tool_calls == CALLS
    assert [(call.call_id, call.name, call.arguments) for call in theirs.output[2:]] == [
        (call.id, call.name, call.arguments) for call in CALLS
    ]
    assert ours.usage.prompt_tokens == theirs.usage.input_tokens
    assert ours.usage.completion_tokens == theirs.usage.output_tokens
    assert ours.usage.cached_tokens == theirs.usage.input_tokens_details.cached_tokens
    assert ours.usage.reasoning_tokens == theirs.usage.output_tokens_details.reasoning_tokens
