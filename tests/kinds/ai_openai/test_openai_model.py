"""`AiOpenai.OpenaiModel` over real HTTP on loopback: bodies, streams, errors, retries."""

import json
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from runtime.ai.contracts import Image, Message, Model, ModelRequest, Text, TextDelta, Tool, ToolCall, TurnEnd, Usage
from runtime.errors import ModelError

pytestmark = pytest.mark.anyio

KEY = "sk-test-5f3a9c1e77aa"
USER = Message("user", "hi")
READ = Tool(
    "read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
)


async def ask(model: Model, *messages: Message, **request: Any) -> tuple[list[str], TurnEnd]:
    """The deltas and the end of one turn."""
    deltas = []
    end = None
    async with aclosing(model.generate(ModelRequest(list(messages) or [USER], **request))) as turn:
        async for piece in turn:
            if isinstance(piece, TextDelta):
                deltas.append(piece.text)
            else:
                end = piece
    assert end is not None
    return deltas, end


async def fails(model: Model, *messages: Message) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await ask(model, *messages)
    assert KEY not in str(raised.value) + str(raised.value.hint) + str(raised.value.details)
    return raised.value


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}


def call_piece(index: int | None, arguments: str = "", **more: Any) -> dict[str, Any]:
    name = more.pop("name", None)
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"function": function, **({} if index is None else {"index": index}), **more}


async def test_request_is_what_the_api_takes(provider, model):
    provider.says("hello")

    await ask(await model(), Message("system", "Be brief."), USER, tools=[READ])

    (request,) = provider.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    function = {
        "name": "read",
        "description": "Read a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    }
    assert request.body == {
        "model": "gpt-test",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": function}],
    }


async def test_limit_of_tools_is_openais_own(model):
    assert (await model(baseUrl="https://api.openai.com/v1")).max_tools is None
    assert (await model()).max_tools == 0


async def test_request_without_tools_has_no_word_of_them(provider, model):
    provider.says("hello")

    await ask(await model(), tool_choice="required")

    assert {"tools", "tool_choice"}.isdisjoint(provider.requests[0].body)


async def test_tool_block_of_the_caller_goes_out_as_it_is(provider, model):
    provider.says("hello")
    block = b'[{"type":"function","function":{"name":"read"}}]'

    await ask(await model(), tools=[READ], tool_block=block)

    assert provider.requests[0].body["tools"] == json.loads(block)


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("none", "none"),
        ("required", "required"),
        ("read", {"type": "function", "function": {"name": "read"}}),
        ("auto", None),
    ],
)
async def test_tool_choice_is_spelt_as_the_api_does(provider, model, choice, wire):
    provider.says("hello")

    await ask(await model(), tools=[READ], tool_choice=choice)

    assert provider.requests[0].body.get("tool_choice") == wire


async def test_options_are_snake_case_and_the_calls_go_before_the_models(provider, model):
    provider.says("hello")
    options = {"temperature": 0, "maxCompletionTokens": 9, "topP": 0.5, "responseFormat": {"jsonSchema": {"aB": 1}}}

    await ask(await model(options=options), options={"temperature": 1, "topP": None, "streamOptions": None})

    body = provider.requests[0].body
    del body["messages"]
    assert body == {
        "model": "gpt-test",
        "stream": True,
        "temperature": 1,
        "max_completion_tokens": 9,
        "response_format": {"jsonSchema": {"aB": 1}},
    }


async def test_options_do_not_replace_messages_tools_or_streaming(provider, model):
    provider.says("hello")

    await ask(await model(options={"messages": [], "tools": [], "stream": False}))

    body = provider.requests[0].body
    assert (body["messages"], body["stream"], "tools" in body) == ([{"role": "user", "content": "hi"}], True, False)
    assert provider.requests[0].raw.count(b'"messages"') == provider.requests[0].raw.count(b'"stream"') == 1


async def test_headers_of_the_manifest_go_before_ours(provider, model):
    provider.says("hello")

    await ask(await model(headers={"Authorization": "Custom x", "api-key": "y"}))

    headers = provider.requests[0].headers
    assert (headers["authorization"], headers["api-key"]) == ("Custom x", "y")


async def test_empty_key_sends_no_authorization(provider, model):
    provider.says("hello")

    await ask(await model(apiKey=""))

    assert "authorization" not in provider.requests[0].headers


async def test_base_url_may_end_with_a_slash(provider, model):
    provider.says("hello")

    await ask(await model(baseUrl=f"{provider.url}/"))

    assert provider.requests[0].path == "/v1/chat/completions"


async def test_conversation_goes_back_as_the_api_gave_it(provider, model):
    provider.says("done")

    await ask(
        await model(),
        Message("user", [Text("look"), Image("aGk=", "image/png")]),
        Message("assistant", "I look.", [ToolCall("a", "read", '{"path": "x"}'), ToolCall("b", "read", "")]),
        Message("tool", "milk", tool_call_id="a", name="read"),
        Message("tool", "no such file", tool_call_id="b", name="read", is_error=True),
        Message("assistant", "", [ToolCall("c", "read", '{"path": ')]),
        Message("tool", "broken", tool_call_id="c", name="read", is_error=True),
    )

    def function(name: str, arguments: str) -> dict[str, Any]:
        return {"type": "function", "id": name, "function": {"name": "read", "arguments": arguments}}

    assert provider.requests[0].body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
        },
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [function("a", '{"path": "x"}'), function("b", "{}")],
        },
        {"role": "tool", "tool_call_id": "a", "content": "milk"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no such file"},
        {"role": "assistant", "content": None, "tool_calls": [function("c", '{"invalid_json":"{\\"path\\": "}')]},
        {"role": "tool", "tool_call_id": "c", "content": "Error: broken"},
    ]


async def test_images_of_tool_results_follow_the_run_of_tool_messages(provider, model):
    provider.says("done")
    calls = [ToolCall("a", "shot", "{}"), ToolCall("b", "shot", "{}")]

    await ask(
        await model(),
        USER,
        Message("assistant", "", calls),
        Message("tool", [Text("one"), Image("MQ==", "image/png")], tool_call_id="a"),
        Message("tool", [Image("Mg==", "image/jpeg")], tool_call_id="b"),
        Message("assistant", "", calls),
        Message("tool", [Image("Mw==", "image/png")], tool_call_id="a"),
        Message("tool", "none", tool_call_id="b"),
    )

    def image(number: int, url: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": f"[image {number}]"}, {"type": "image_url", "image_url": {"url": url}}]

    messages = provider.requests[0].body["messages"]
    assert [message["role"] for message in messages] == [
        *("user", "assistant", "tool", "tool", "user"),
        *("assistant", "tool", "tool", "user"),
    ]
    assert messages[2]["content"] == "one\n[image 1 attached below]"
    assert messages[3]["content"] == "[image 2 attached below]"
    assert messages[4]["content"] == [
        *image(1, "data:image/png;base64,MQ=="),
        *image(2, "data:image/jpeg;base64,Mg=="),
    ]
    assert messages[6]["content"] == "[image 1 attached below]"
    assert messages[8]["content"] == image(1, "data:image/png;base64,Mw==")


async def test_each_message_is_encoded_once(provider, model):
    provider.says("one")
    provider.says("two")
    opened = await model()
    messages = [USER, Message("assistant", "one")]
    await ask(opened, *messages)
    kept = [message.wire["openai"] for message in messages]

    await ask(opened, *messages, USER)

    assert all(message.wire["openai"] is wire for message, wire in zip(messages, kept, strict=True))
    assert provider.requests[1].body["messages"][:2] == provider.requests[0].body["messages"]


async def test_text_streams_piece_by_piece_with_usage_and_reason(provider, model):
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    provider.chunks(
        chunk(role="assistant", content=""),
        chunk(content="Hel"),
        chunk(content="lo"),
        chunk("length"),
        {"id": "c", "choices": [], "usage": usage},
    )

    counted = Usage(10, 5, 15, 4, 2, cache_write_tokens=3)
    assert await ask(await model()) == (["Hel", "lo"], TurnEnd([], "length", counted))


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 10.0, "completion_tokens": 5.0, "total_tokens": 15.0}, Usage(10, 5, 15)),
        ({"prompt_tokens": "many", "completion_tokens": -1, "total_tokens": None}, Usage()),
        ({"prompt_tokens": 7, "prompt_tokens_details": [], "completion_tokens_details": "none"}, Usage(7, 0, 7)),
        ([1, 2], Usage()),
    ],
    ids=["floats", "no counts", "details that are none", "a list"],
)
async def test_odd_usage_of_a_compatible_server_costs_no_answer(provider, model, usage, counted):
    provider.chunks(chunk("stop", content="Hello"), {"id": "c", "choices": [], "usage": usage})

    assert await ask(await model()) == (["Hello"], TurnEnd([], "stop", counted))


async def test_first_piece_comes_before_the_last_is_sent(provider, model, answered):
    provider.will(answered(b'data: {"choices":[{"delta":{"content":"now"}}]}\n\n', hang=True))

    with anyio.fail_after(5):
        async with aclosing((await model()).generate(ModelRequest([USER]))) as turn:
            assert await anext(turn) == TextDelta("now")


async def test_closing_the_turn_closes_the_request(provider, model, answered):
    provider.will(answered(b'data: {"choices":[{"delta":{"content":"now"}}]}\n\n', hang=True))
    opened = await model()

    with anyio.fail_after(5):
        async with aclosing(opened.generate(ModelRequest([USER]))) as turn:
            await anext(turn)
        await provider.closed.wait()
    provider.says("again")
    assert (await ask(opened))[0] == ["again"]


async def test_cancelling_the_turn_closes_the_request(provider, model, answered):
    provider.will(answered(b": nothing yet\n\n", hang=True))
    opened = await model()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, opened)
            await provider.waiting.wait()
            group.cancel_scope.cancel()
        await provider.closed.wait()
    provider.says("again")
    assert (await ask(opened))[0] == ["again"]


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_pieces_of_any_size_and_line_ends_of_any_kind_are_read(provider, model, answered, size):
    first = json.dumps(chunk(content="süß 🍯"), ensure_ascii=False)
    stream = (
        f": comment\r\n\r\nevent: message\r\nid: 1\r\ndata: {first}\r\n\r\n"
        f'data:{json.dumps(chunk(content="!"))}\r\rdata: {{"choices":\ndata: []}}\n\ndata: {json.dumps(chunk("stop"))}'
    ).encode()
    provider.will(answered(*[stream[start : start + size] for start in range(0, len(stream), size)]))

    assert await ask(await model()) == (["süß 🍯", "!"], TurnEnd([], "stop", Usage()))


async def test_tool_calls_come_in_fragments(provider, model):
    provider.chunks(
        chunk(role="assistant", tool_calls=[call_piece(0, id="a", name="read", type="function")]),
        chunk(tool_calls=[call_piece(0, '{"pa')]),
        chunk(tool_calls=[call_piece(1, id="b", name="list")]),
        chunk(tool_calls=[call_piece(0, 'th": "x"}'), call_piece(1, "{}")]),
        chunk("tool_calls"),
    )

    _, end = await ask(await model(), tools=[READ])

    assert end == TurnEnd([ToolCall("a", "read", '{"path": "x"}'), ToolCall("b", "list", "{}")], "tool-calls", Usage())


@pytest.mark.parametrize(
    ("written", "reason", "arguments"), [("", "length", "{"), ('{"pa', "length", '{"pa'), ("", "tool_calls", "")]
)
async def test_call_that_the_limit_cut_is_broken_and_not_empty(provider, model, written, reason, arguments):
    provider.chunks(chunk(tool_calls=[call_piece(0, written, id="a", name="read")]), chunk(reason))

    _, end = await ask(await model(), tools=[READ])

    assert end.tool_calls == [ToolCall("a", "read", arguments)]


@pytest.mark.parametrize(
    "pieces",
    [
        [call_piece(0, "{}", id="a", name="read"), call_piece(0, "{}", id="b", name="list")],
        [call_piece(None, "{}", id="a", name="read"), call_piece(None, "{}", id="b", name="list")],
        [
            call_piece(0, "{", id="a", name="read"),
            call_piece(0, "}", id="a", name="read"),
            call_piece(1, "{}", id="b", name="list"),
        ],
        [
            call_piece(None, "{", id="a", name="read"),
            call_piece(None, "}"),
            call_piece(None, "{}", id="b", name="list"),
        ],
    ],
)
async def test_calls_are_told_apart_where_servers_number_them_badly(provider, model, pieces):
    provider.chunks(*[chunk(tool_calls=[piece]) for piece in pieces], chunk("stop"))

    _, end = await ask(await model(), tools=[READ])

    assert end == TurnEnd([ToolCall("a", "read", "{}"), ToolCall("b", "list", "{}")], "tool-calls", Usage())


async def test_arguments_given_as_an_object_become_text(provider, model):
    piece = {"index": 0, "id": "a", "function": {"name": "read", "arguments": {"path": "x"}}}
    provider.chunks(chunk("tool_calls", tool_calls=[piece]))

    _, end = await ask(await model(), tools=[READ])

    assert end.tool_calls == [ToolCall("a", "read", '{"path":"x"}')]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content-filter"),
        ("tool_calls", "stop"),
        ("error", "error"),
        ("eos", "other"),
    ],
)
async def test_finish_reasons_are_mapped(provider, model, reason, expected):
    provider.chunks(chunk(reason, content="x"))

    assert (await ask(await model()))[1].finish_reason == expected


async def test_refusal_is_text_and_a_content_filter(provider, model):
    provider.chunks(chunk(refusal="I can"), chunk(refusal="not."), chunk("stop"))

    assert await ask(await model()) == (["I can", "not."], TurnEnd([], "content-filter", Usage()))


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", ""])
async def test_server_that_answers_in_one_piece_is_understood(provider, model, answered, content_type):
    message = {"role": "assistant", "content": "hello", "tool_calls": [call_piece(None, "{}", id="a", name="read")]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3}}
    provider.will(answered(json.dumps(body, indent=1).encode(), content_type=content_type))

    assert await ask(await model()) == (
        ["hello"],
        TurnEnd([ToolCall("a", "read", "{}")], "tool-calls", Usage(3, 0, 3)),
    )


async def test_stream_with_a_wrong_content_type_is_understood(provider, model, answered):
    provider.will(
        answered(b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}', content_type="text/plain")
    )

    assert (await ask(await model()))[0] == ["hi"]


@pytest.mark.parametrize("start", [b'{"x": "', b"data: "])
async def test_answer_that_grows_without_end_is_an_error(provider, model, answered, start):
    provider.will(answered(start, *[b"x" * (1 << 20)] * 17, cut=True, content_type="application/json"))

    error = await fails(await model())

    assert (error.code, error.message) == (
        "ERR_MODEL_RESPONSE",
        "the provider's answer is too long: it has more than 16777216 bytes in one piece",
    )


async def test_content_in_parts_is_text(provider, model):
    provider.chunks(chunk("stop", content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))

    assert (await ask(await model()))[0] == ["ab"]


@pytest.mark.parametrize(
    ("status", "body", "code", "words"),
    [
        (400, {"error": {"message": "no such field", "type": "x"}}, "ERR_MODEL_HTTP", "400: no such field"),
        (401, {"error": {"message": f"wrong key {KEY}"}}, "ERR_MODEL_AUTH", "401: wrong key ***"),
        (403, {"error": "no, hush"}, "ERR_MODEL_AUTH", "403: no, ***"),
        (404, {"detail": "Not Found"}, "ERR_MODEL_HTTP", "404: Not Found"),
        (413, [{"error": {"message": "too\n large"}}], "ERR_MODEL_HTTP", "413: too large"),
        (418, b"<html>teapot</html>", "ERR_MODEL_HTTP", "418: <html>teapot</html>"),
        (422, {"error": {"code": 7}}, "ERR_MODEL_HTTP", '422: {"code":7}'),
        (451, b"", "ERR_MODEL_HTTP", "451"),
        (302, b"", "ERR_MODEL_HTTP", "302"),
    ],
)
async def test_refusal_carries_status_and_words_of_the_provider(provider, model, status, body, code, words):
    provider.refuses(status, body, **{"x-request-id": "req_1"})

    error = await fails(await model())

    assert (error.code, error.resource) == (code, "Gpt")
    assert error.message == f"the provider answered {words} (request req_1)"
    assert error.details == {"status": status, "requestId": "req_1"}
    assert len(provider.requests) == 1


async def test_huge_error_is_cut(provider, model):
    provider.refuses(400, {"error": {"message": "x" * 100_000}})

    assert len((await fails(await model())).message) < 2100


async def test_error_in_a_stream_is_an_error(provider, model):
    provider.chunks(chunk(content="so far"), {"error": {"message": "overloaded, hush", "code": "server_error"}})
    provider.chunks({"error": {"message": "slow down", "code": 429}})
    provider.chunks({"object": "error", "message": "the key, hush, is wrong", "type": "Unauthorized", "code": 401})
    opened = await model()

    first, second, third = await fails(opened), await fails(opened), await fails(opened)

    assert (first.code, first.message) == ("ERR_MODEL_HTTP", "the provider broke off: overloaded, ***")
    assert (second.code, second.message) == ("ERR_MODEL_RATE_LIMIT", "the provider broke off: slow down")
    assert (third.code, third.message) == ("ERR_MODEL_AUTH", "the provider broke off: the key, ***, is wrong")


@pytest.mark.parametrize("body", [b"data: {oops\n\n", b'data: {"choices": 5}\n\n', b'data: "x"\n\n'])
async def test_answer_that_makes_no_sense_is_an_error(provider, model, answered, body):
    provider.will(answered(body))

    error = await fails(await model())

    assert error.code == "ERR_MODEL_RESPONSE"
    assert error.message.startswith("the provider's answer makes no sense: ")


async def test_page_of_another_server_is_told_as_that(provider, model, answered):
    provider.will(answered(b"<!doctype html>\n\n<p>Log in</p>\n", content_type="text/html; charset=utf-8"))

    error = await fails(await model())

    assert (error.code, error.message, error.hint) == (
        "ERR_MODEL_RESPONSE",
        'the provider at "127.0.0.1" answered with "text/html", where JSON or a stream of events was expected',
        "check `baseUrl`: is it the address of the API, with its path?",
    )


@pytest.mark.parametrize("body", [b"", b"<html>hello</html>", b'data: {"choices":[{"delta":{"content":"half"}}]}\n\n'])
async def test_answer_that_ends_too_early_is_an_error(provider, model, answered, body):
    provider.will(answered(body))

    error = await fails(await model())

    assert (error.code, error.message) == ("ERR_MODEL_RESPONSE", "the provider's answer ended before it was complete")


async def test_connection_that_breaks_within_an_answer_is_not_retried(provider, model, answered):
    provider.will(answered(b'data: {"choices":[{"delta":{"content":"half"}}]}\n\n', cut=True))

    error = await fails(await model())

    assert error.code == "ERR_MODEL_CONNECTION"
    assert error.message.startswith('the connection to the provider at "127.0.0.1" broke: ')
    assert len(provider.requests) == 1


async def test_provider_that_is_not_there_is_an_error(model):
    error = await fails(await model(baseUrl="http://127.0.0.1:9/v1", maxRetries=0))

    assert error.code == "ERR_MODEL_CONNECTION"
    assert error.message.startswith('the provider at "127.0.0.1" cannot be reached: ')


async def test_silent_provider_is_a_timeout(provider, model, answered):
    provider.will(answered(hang=True))

    with anyio.fail_after(5):
        error = await fails(await model(timeoutMs=50, maxRetries=0))

    assert (error.code, error.message) == ("ERR_MODEL_TIMEOUT", 'the provider at "127.0.0.1" sent nothing for 0.05 s')


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
async def test_failure_for_now_is_retried(provider, model, context, status):
    provider.refuses(status, {"error": {"message": "busy"}}, **{"retry-after-ms": "1"})
    provider.refuses(status, {"error": {"message": "busy"}}, **{"retry-after": "0.001"})
    provider.says("hello")

    assert (await ask(await model()))[0] == ["hello"]

    assert [request.raw for request in provider.requests] == [provider.requests[0].raw] * 3
    assert context.lines == [
        f"the provider answered {status}: busy; retry 1 of 2 in 0.0 s",
        f"the provider answered {status}: busy; retry 2 of 2 in 0.0 s",
    ]


async def test_retries_end(provider, model):
    for _ in range(3):
        provider.refuses(429, {"error": {"message": "busy"}}, **{"retry-after": "0"})

    error = await fails(await model())

    assert (error.code, len(provider.requests)) == ("ERR_MODEL_RATE_LIMIT", 3)


async def test_header_of_the_provider_decides_on_retries(provider, model):
    provider.refuses(400, {}, **{"x-should-retry": "true", "retry-after": "0"})
    provider.refuses(500, {"error": "down"}, **{"x-should-retry": "false"})

    error = await fails(await model())

    assert (error.details["status"], len(provider.requests)) == (500, 2)


async def test_wait_that_is_too_long_is_not_waited_for(provider, model):
    provider.refuses(429, {"error": "busy"}, **{"retry-after": "121"})

    with anyio.fail_after(5):
        error = await fails(await model())

    assert (error.code, len(provider.requests)) == ("ERR_MODEL_RATE_LIMIT", 1)


async def test_long_wait_is_told_to_whoever_waits(provider, model, context):
    provider.refuses(429, {"error": {"message": "busy"}}, **{"retry-after": "60"})
    told, waits = [], anyio.Event()
    context.warn = lambda message: (told.append(message), waits.set())

    async with anyio.create_task_group() as group:
        group.start_soon(ask, await model())
        with anyio.fail_after(30):
            await waits.wait()
        group.cancel_scope.cancel()

    assert (told, context.lines) == (["the provider answered 429: busy; retry 1 of 2 in 60.0 s"], [])


async def test_past_date_to_retry_after_is_now(provider, model):
    provider.refuses(503, {}, **{"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})
    provider.says("hello")

    assert (await ask(await model()))[0] == ["hello"]


async def test_retries_can_be_switched_off(provider, model):
    provider.refuses(500, {}, **{"retry-after": "0"})

    await fails(await model(maxRetries=0))

    assert len(provider.requests) == 1


@pytest.mark.parametrize("key", ["sk-\nx", "sk-ü", "sk-\x00"])
async def test_key_that_no_header_can_carry_does_not_start(model, key):
    with pytest.raises(ModelError) as raised:
        await model(apiKey=key)

    assert raised.value.code == "ERR_MODEL_AUTH"
    assert key not in raised.value.message


async def test_header_that_cannot_be_carried_does_not_start(model):
    with pytest.raises(ModelError, match=r"`headers.X-Team` has characters that no header can carry") as raised:
        await model(headers={"X-Team": "quiet\r\nX-Other: 1"})

    assert "quiet" not in f"{raised.value} {raised.value.hint}"


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:99999/v1", "http://"])
async def test_address_that_is_none_does_not_start(model, url):
    with pytest.raises(ModelError) as raised:
        await model(baseUrl=url)

    assert (raised.value.code, raised.value.resource) == ("ERR_MODEL_CONNECTION", "Gpt")


async def test_proxy_of_the_environment_is_used(provider, model, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", provider.url.removesuffix("/v1"))
    provider.says("hello")

    assert (await ask(await model(baseUrl="http://model.example/v1")))[0] == ["hello"]

    assert provider.requests[0].path == "http://model.example/v1/chat/completions"
    assert provider.requests[0].headers["host"] == "model.example"


async def test_host_that_wants_no_proxy_gets_none(provider, model, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    provider.says("hello")

    assert (await ask(await model()))[0] == ["hello"]


async def test_line_end_around_a_key_is_no_part_of_it(provider, model):
    provider.says("hello")

    await ask(await model(apiKey=f"{KEY}\n"))

    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_requests_at_the_same_time_do_not_wait_for_each_other(provider, model, answered):
    opened = await model()
    provider.will(*[answered(b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n', hang=True) for _ in range(20)])
    first = anyio.Event()
    begun = 0

    async def hold() -> None:
        nonlocal begun
        async with aclosing(opened.generate(ModelRequest([USER]))) as turn:
            await anext(turn)
            begun += 1
            if begun == 20:
                first.set()
            await first.wait()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(hold)


async def test_requests_one_after_the_other_share_a_connection(provider, model):
    opened = await model()
    for _ in range(5):
        provider.says("hello")
        await ask(opened)

    assert provider.connections == 1


async def test_image_of_another_models_turn_is_named(provider, model):
    provider.says("hello")

    await ask(await model(), USER, Message("assistant", [Text("Here."), Image("aGk=", "image/png")]), USER)

    assert provider.requests[0].body["messages"][1] == {"role": "assistant", "content": "Here.\n[Image: image/png]"}
