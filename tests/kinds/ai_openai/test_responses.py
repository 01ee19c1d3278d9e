"""`AiOpenai.OpenaiModel` with `api: responses` over real HTTP on loopback: bodies, streams, errors."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from servers.provider import KEY, ask, fail

from runtime.ai.contracts import Image, Message, Model, Text, Tool, ToolCall, TurnEnd, Usage

pytestmark = pytest.mark.anyio

USER = Message("user", "hi")
READ = Tool(
    "read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
)
READ_WIRE = {
    "type": "function",
    "name": "read",
    "description": "Read a file.",
    "parameters": dict(READ.parameters),
    "strict": False,
}


@pytest.fixture
def opened(model: Callable[..., Awaitable[Model]]) -> Callable[..., Awaitable[Model]]:
    async def open_model(**fields: Any) -> Model:
        return await model(api="responses", **fields)

    return open_model


def said(text: str, **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part], **more}


def wanted(name: str, arguments: str, **more: Any) -> dict[str, Any]:
    call = {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": "read", "arguments": arguments}
    return {**call, "status": "completed", **more}


def response(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": status, "output": list(output), "error": None, **more}


def end(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"type": f"response.{status}", "response": response(*output, status=status, **more)}


def deltas(index: int, *pieces: str) -> list[dict[str, Any]]:
    return [{"type": "response.output_text.delta", "output_index": index, "delta": piece} for piece in pieces]


def item(index: int, value: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "response.output_item.added", "output_index": index, "item": {**value, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": index, "item": value},
    ]


def stream(provider: Any, *events: dict[str, Any], **more: Any) -> None:
    provider.chunks({"type": "response.created", "response": response(status="in_progress")}, *events, **more)


HELLO = [*deltas(0, "hello"), *item(0, said("hello")), end(said("hello"))]


async def test_request_is_what_the_api_takes_and_stores_nothing(provider, opened):
    stream(provider, *HELLO, done=False)

    await ask(await opened(), Message("system", "Be brief."), USER, tools=[READ])

    (request,) = provider.requests
    assert (request.method, request.path) == ("POST", "/v1/responses")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "gpt-test",
        "store": False,
        "stream": True,
        "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "tools": [READ_WIRE],
    }


@pytest.mark.parametrize(
    ("choice", "wire"),
    [("none", "none"), ("required", "required"), ("read", {"type": "function", "name": "read"}), ("auto", "x")],
)
async def test_tool_choice_is_spelt_as_the_api_does(provider, opened, choice, wire):
    stream(provider, *HELLO)

    await ask(await opened(options={"toolChoice": "x"}), tools=[READ], tool_choice=choice)

    assert provider.requests[0].body["tool_choice"] == wire


async def test_options_are_snake_case_and_the_calls_go_before_the_models(provider, opened):
    stream(provider, *HELLO)
    options = {"maxOutputTokens": 9, "reasoning": {"effort": "low"}, "store": None, "input": "x", "toolChoice": "x"}

    await ask(await opened(options=options, query={"api-version": "v1"}), options={"maxOutputTokens": 10})

    assert provider.requests[0].path == "/v1/responses?api-version=v1"
    assert provider.requests[0].body == {
        "model": "gpt-test",
        "max_output_tokens": 10,
        "reasoning": {"effort": "low"},
        "stream": True,
        "input": [{"role": "user", "content": "hi"}],
    }


async def test_conversation_of_another_model_is_spelt_as_the_api_does(provider, opened):
    stream(provider, *HELLO)
    long = "x" * 80

    await ask(
        await opened(),
        Message("user", [Text("look"), Image("aGk=", "image/png")]),
        Message("assistant", "I look.", [ToolCall("a", "read", '{"path": "x"}'), ToolCall(long, "read", "")]),
        Message("tool", [Text("milk"), Image("MQ==", "image/png")], tool_call_id="a", name="read"),
        Message("tool", "no such file", tool_call_id=long, name="read", is_error=True),
        Message("assistant", "", [ToolCall("c", "read", '{"path": ')]),
        Message("tool", [Image("Mg==", "image/png")], tool_call_id="c", name="read", is_error=True),
        Message("tool", " ", tool_call_id="d", name="read"),
    )

    def image(data: str) -> dict[str, Any]:
        return {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{data}"}

    def call(name: str, arguments: str) -> dict[str, Any]:
        return {"type": "function_call", "call_id": name, "name": "read", "arguments": arguments}

    def output(name: str, value: Any) -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": name, "output": value}

    items = provider.requests[0].body["input"]
    short = items[3]["call_id"]
    assert (len(short), short[:9]) == (64, "xxxxxxxxx")
    assert items == [
        {"role": "user", "content": [{"type": "input_text", "text": "look"}, image("aGk=")]},
        {"role": "assistant", "content": "I look."},
        call("a", '{"path": "x"}'),
        call(short, "{}"),
        output("a", [{"type": "input_text", "text": "milk"}, image("MQ==")]),
        output(short, "Error: no such file"),
        call("c", '{"invalid_json":"{\\"path\\":"}'),
        output("c", [{"type": "input_text", "text": "Error:"}, image("Mg==")]),
        output("d", "(no output)"),
    ]


async def test_each_message_is_encoded_once(provider, opened):
    stream(provider, *HELLO)
    stream(provider, *HELLO)
    model = await opened()
    messages = [USER, Message("assistant", "hello")]
    await ask(model, *messages)
    kept = [message.wire["openai-responses"] for message in messages]

    await ask(model, *messages, USER)

    assert all(message.wire["openai-responses"] is wire for message, wire in zip(messages, kept, strict=True))
    assert provider.requests[1].body["input"][:2] == provider.requests[0].body["input"]


USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "total_tokens": 15,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 2},
}


async def test_text_streams_piece_by_piece_with_usage_and_reason(provider, opened):
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    stream(provider, *deltas(0, "Hel", "lo"), *item(0, said("Hello")), end(said("Hello"), usage=USAGE, **incomplete))

    assert await ask(await opened()) == (["Hel", "lo"], TurnEnd([], "length", Usage(10, 5, 15, 4, 2)))


async def test_answer_in_one_piece_is_understood(provider, opened, answered):
    whole = response(said("I look."), wanted("a", '{"path":"x"}'), usage=USAGE)
    provider.will(answered(json.dumps(whole).encode(), content_type="application/json"))

    assert await ask(await opened(), tools=[READ]) == (
        ["I look."],
        TurnEnd([ToolCall("a", "read", '{"path":"x"}')], "tool-calls", Usage(10, 5, 15, 4, 2)),
    )


@pytest.mark.parametrize("is_done", [True, False])
async def test_parallel_calls_come_in_fragments(provider, opened, is_done):
    def added(index: int, name: str) -> dict[str, Any]:
        return {"type": "response.output_item.added", "output_index": index, "item": wanted(name, "")}

    def piece(index: int, text: str) -> dict[str, Any]:
        return {"type": "response.function_call_arguments.delta", "output_index": index, "delta": text}

    calls = [wanted("a", '{"path": "x"}'), wanted("b", "{}")]
    done = [event for index, call in enumerate(calls) for event in item(index, call)[1:]] if is_done else []
    stream(
        provider,
        *(added(0, "a"), added(1, "b"), piece(0, '{"pa'), piece(1, "{}"), piece(0, 'th": "x"}')),
        *done,
        end(*(calls if is_done else ())),
    )

    _, turn = await ask(await opened(), tools=[READ])

    assert turn == TurnEnd([ToolCall("a", "read", '{"path": "x"}'), ToolCall("b", "read", "{}")], "tool-calls", Usage())


async def test_call_that_the_limit_cut_is_broken_and_not_empty(provider, opened):
    call = wanted("a", "", status="incomplete")
    stream(provider, *item(0, call), end(call, status="incomplete", incomplete_details={"reason": "max_output_tokens"}))

    _, turn = await ask(await opened(), tools=[READ])

    assert turn.tool_calls == [ToolCall("a", "read", "{")]


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
BARE_THOUGHT = {"type": "reasoning", "id": "rs_2", "summary": []}


@pytest.mark.parametrize("store", [False, True])
async def test_reasoning_goes_back_with_the_calls(provider, opened, store):
    output = [THOUGHT, BARE_THOUGHT, said("I look.", phase="commentary"), wanted("a", '{"path": "x"}')]
    events = [event for index, each in enumerate(output) for event in item(index, each)]
    stream(provider, *events[:4], *deltas(2, "I look."), *events[4:], end(*output))
    stream(provider, *HELLO)
    model = await opened(options={"store": store})

    texts, turn = await ask(model, tools=[READ])
    message = Message("assistant", "".join(texts), list(turn.tool_calls), provider_data=turn.provider_data)
    await ask(model, USER, message, Message("tool", "milk", tool_call_id="a"), tools=[READ])

    back = provider.requests[1].body["input"][1:-1]
    if store:
        assert back == output
    else:
        nameless = [{key: value for key, value in each.items() if key != "id"} for each in output]
        assert back == [nameless[0], *nameless[2:]]


async def test_calls_that_nobody_answered_do_not_go_back(provider, opened):
    stream(provider, *HELLO)
    stream(provider, *HELLO)
    model = await opened(options={"store": True})

    for items in ([THOUGHT, said("I look."), wanted("a", "{}")], [THOUGHT, wanted("a", "{}")]):
        await ask(model, USER, Message("assistant", "I look.", provider_data={"openai-responses": items}))

    assert [request.body["input"][1:] for request in provider.requests] == [[THOUGHT, said("I look.")], []]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("max_output_tokens", "length"), ("content_filter", "content-filter"), ("reason_of_tomorrow", "other")],
)
async def test_finish_reasons_are_mapped(provider, opened, reason, expected):
    call = wanted("a", "{}")
    ended = end(call, status="incomplete", incomplete_details={"reason": reason})
    stream(provider, *deltas(0, "x"), end(said("x"), status="incomplete", incomplete_details={"reason": reason}))
    stream(provider, *item(0, call), ended)
    model = await opened()

    (_, plain), (_, calling) = await ask(model), await ask(model, tools=[READ])

    assert plain.finish_reason == expected
    assert calling.finish_reason == ("content-filter" if expected == "content-filter" else "tool-calls")


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_refusal_is_text_and_a_content_filter(provider, opened, is_streamed):
    refused = {**said(""), "content": [{"type": "refusal", "refusal": "I cannot."}]}
    pieces = [{"type": "response.refusal.delta", "output_index": 0, "delta": piece} for piece in ("I can", "not.")]
    stream(provider, *(pieces if is_streamed else ()), *item(0, refused), end(refused))

    texts, turn = await ask(await opened())

    assert ("".join(texts), turn.finish_reason) == ("I cannot.", "content-filter")


@pytest.mark.parametrize(
    ("fault", "code", "status"),
    [
        ({"code": "rate_limit_exceeded", "message": "slow down, hush"}, "ERR_MODEL_RATE_LIMIT", 429),
        ({"code": "server_error", "message": "slow down, hush"}, "ERR_MODEL_HTTP", 500),
        ({"code": "invalid_prompt", "message": "slow down, hush"}, "ERR_MODEL_HTTP", 400),
    ],
)
async def test_error_within_a_stream_is_an_error(provider, opened, fault, code, status):
    stream(provider, *deltas(0, "so far"), end(status="failed", error=fault))
    stream(provider, {"type": "error", **fault, "param": None})
    stream(provider, {"type": "error", "error": fault})
    model = await opened()

    errors = [await fail(model) for _ in range(3)]

    told = (code, "the provider broke off: slow down, ***", {"status": status})
    assert [(error.code, error.message, error.details) for error in errors] == [told] * 3


async def test_refused_request_and_retry_are_those_of_every_model(provider, opened, context):
    provider.refuses(429, {"error": {"message": "busy"}}, **{"retry-after": "0"})
    provider.refuses(400, {"error": {"message": "no such field"}})

    error = await fail(await opened())

    assert (error.code, error.message) == ("ERR_MODEL_HTTP", "the provider answered 400: no such field")
    assert context.lines == ["the provider answered 429: busy; retry 1 of 2 in 0.0 s"]


@pytest.mark.parametrize("body", [b"data: {oops\n\n", b'data: {"type": 5}\n\n', b'data: "x"\n\n'])
async def test_answer_that_makes_no_sense_is_an_error(provider, opened, answered, body):
    provider.will(answered(body))

    error = await fail(await opened())

    assert error.code == "ERR_MODEL_RESPONSE"
    assert error.message.startswith("the provider's answer makes no sense: ")


async def test_answer_that_ends_too_early_is_an_error(provider, opened):
    stream(provider, *deltas(0, "half"), *item(0, said("half")))

    error = await fail(await opened())

    assert (error.code, error.message) == ("ERR_MODEL_RESPONSE", "the provider's answer ended before it was complete")


async def test_generated_image_is_an_image_of_the_turn(provider, opened):
    drawn = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "aGk="}
    webp = {**drawn, "output_format": "webp"}
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    items = [drawn, webp, search, said("Here.")]
    stream(provider, *(event for index, each in enumerate(items) for event in item(index, each)), end(*items))

    texts, ended = await ask(await opened())

    assert texts == ["Here."]
    assert ended.images == (Image("aGk=", "image/png"), Image("aGk=", "image/webp"))
    assert ended.rest == (search,)


async def test_image_of_another_models_turn_is_named(provider, opened):
    stream(provider, *HELLO)

    await ask(await opened(), USER, Message("assistant", [Text("Here."), Image("aGk=", "image/png")]), USER)

    assert provider.requests[0].body["input"][1] == {"role": "assistant", "content": "Here.\n[Image: image/png]"}
