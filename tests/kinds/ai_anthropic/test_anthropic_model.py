"""`AiAnthropic.AnthropicModel` over real HTTP on loopback: bodies, streams, errors, retries."""

import json
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from servers.provider import KEY, Answered, ask, fail

import runtime
from runtime.ai.contracts import Image, Message, ModelRequest, Text, TextDelta, Tool, ToolCall, TurnEnd, Usage

pytestmark = pytest.mark.anyio

USER = Message("user", "hi")
READ = Tool(
    "read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
)
READ_WIRE = {"name": "read", "description": "Read a file.", "input_schema": READ.parameters}


def start(**usage: int) -> dict[str, Any]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test", "content": []}
    return {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *pieces: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def call(index: int, name: str, tool: str, *pieces: str) -> list[dict[str, Any]]:
    content = {"type": "tool_use", "id": name, "name": tool, "input": {}}
    return block(index, content, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def stop(reason: str, output_tokens: int = 0, **more: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None, **more}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output_tokens}},
        {"type": "message_stop"},
    ]


HELLO = [start(input_tokens=1), *text(0, "hello"), *stop("end_turn", 1)]


async def test_request_is_what_the_api_takes(provider, model):
    provider.streams(*HELLO)

    await ask(await model(), Message("system", "Be brief."), USER, tools=[READ])

    (request,) = provider.requests
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2026-10-21"
    assert request.headers["content-type"] == "application/json"
    assert "authorization" not in request.headers
    assert request.body == {
        "model": "claude-test",
        "max_tokens": 8192,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [READ_WIRE],
    }


async def test_version_headers_and_query_are_those_of_the_manifest(provider, model):
    provider.streams(*HELLO)

    opened = await model(apiVersion="2023-06-01", headers={"Anthropic-Beta": "x"}, query={"beta": "true"}, apiKey="")
    await ask(opened)

    (request,) = provider.requests
    assert request.path == "/v1/messages?beta=true"
    assert (request.headers["anthropic-version"], request.headers["anthropic-beta"]) == ("2023-06-01", "x")
    assert "x-api-key" not in request.headers


@pytest.mark.parametrize(
    ("choice", "wire"),
    [("none", {"type": "none"}), ("required", {"type": "any"}), ("read", {"type": "tool", "name": "read"})],
)
async def test_tool_choice_is_spelt_as_the_api_does(provider, model, choice, wire):
    provider.streams(*HELLO)

    await ask(await model(), tools=[READ], tool_choice=choice)

    assert provider.bodies[0]["tool_choice"] == wire


async def test_forced_choice_keeps_the_option_against_parallel_calls(provider, model):
    provider.streams(*HELLO)
    provider.streams(*HELLO)
    opened = await model(options={"toolChoice": {"type": "auto", "disable_parallel_tool_use": True}})

    await ask(opened, tools=[READ], tool_choice="required")
    await ask(opened, tools=[READ])

    assert [body["tool_choice"] for body in provider.bodies] == [
        {"type": "any", "disable_parallel_tool_use": True},
        {"type": "auto", "disable_parallel_tool_use": True},
    ]


async def test_request_without_tools_has_no_word_of_them(provider, model):
    provider.streams(*HELLO)

    await ask(await model(options={"toolChoice": {"type": "auto"}}), tool_choice="required")

    assert {"tools", "tool_choice"}.isdisjoint(provider.bodies[0])


async def test_options_are_snake_case_and_the_calls_go_before_the_models(provider, model):
    provider.streams(*HELLO)
    options = {"maxTokens": 9, "stopSequences": ["x"], "serviceTier": "auto", "messages": [], "system": "y"}

    await ask(await model(options=options), options={"maxTokens": 10, "serviceTier": None})

    assert provider.bodies[0] == {
        "model": "claude-test",
        "max_tokens": 10,
        "stop_sequences": ["x"],
        "stream": True,
        "messages": [{"role": "user", "content": "hi"}],
    }


@pytest.mark.parametrize(
    ("field", "mark"), [({}, {"type": "ephemeral"}), ({"ttl": "1h"}, {"type": "ephemeral", "ttl": "1h"})]
)
async def test_cache_control_marks_tools_system_text_and_conversation(provider, model, field, mark):
    provider.streams(*HELLO)

    messages = [Message("system", "Be brief."), Message("system", "Be kind."), USER]
    await ask(await model(cacheControl=field), *messages, tools=[Tool("list", "", {"type": "object"}), READ])

    body = provider.bodies[0]
    assert body["cache_control"] == mark
    assert body["system"] == [
        {"type": "text", "text": "Be brief."},
        {"type": "text", "text": "Be kind.", "cache_control": mark},
    ]
    assert body["tools"][1] == {**READ_WIRE, "cache_control": mark}
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]


async def test_conversation_goes_back_as_the_api_gave_it(provider, model):
    provider.streams(*HELLO)

    await ask(
        await model(),
        Message("user", [Text("look"), Image("aGk=", "image/jpg"), Text(" ")]),
        Message("assistant", "I look.", [ToolCall("a", "read", '{"path": "x"}'), ToolCall("b", "read", "")]),
        Message("tool", "milk", tool_call_id="a", name="read"),
        Message("tool", "no such file", tool_call_id="b", name="read", is_error=True),
        Message("assistant", "", [ToolCall("c", "read", '{"path": ')]),
        Message("tool", "broken", tool_call_id="c", name="read", is_error=True),
        Message("assistant", "Sorry."),
        Message("user", "Again."),
    )

    def use(name: str, arguments: Any) -> dict[str, Any]:
        return {"type": "tool_use", "id": name, "name": "read", "input": arguments}

    def result(name: str, content: str, **more: Any) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": name, "content": content, **more}

    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}}
    assert provider.bodies[0]["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "I look."}, use("a", {"path": "x"}), use("b", {})],
        },
        {"role": "user", "content": [result("a", "milk"), result("b", "no such file", is_error=True)]},
        {"role": "assistant", "content": [use("c", {"invalid_json": '{"path": '})]},
        {"role": "user", "content": [result("c", "broken", is_error=True)]},
        {"role": "assistant", "content": [{"type": "text", "text": "Sorry."}]},
        {"role": "user", "content": "Again."},
    ]


async def test_results_hold_images_of_four_types_and_are_never_empty(provider, model):
    provider.streams(*HELLO)
    names = "abcdef"

    await ask(
        await model(),
        USER,
        Message("assistant", "", [ToolCall(name, "shot", "{}") for name in names]),
        Message("tool", [Text("one"), Image("MQ==", "image/png"), Image("Mg==", "image/WebP")], tool_call_id="a"),
        Message("tool", [Image("Mw==", "image/bmp")], tool_call_id="b"),
        Message("tool", [Text("no"), Image("NA==", "image/png")], tool_call_id="c", is_error=True),
        Message("tool", "", tool_call_id="d"),
        Message("tool", [Text(" "), Text("")], tool_call_id="e"),
        Message("tool", " \n", tool_call_id="f"),
    )

    def image(media_type: str, data: str) -> dict[str, Any]:
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}

    def said(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    results = provider.bodies[0]["messages"][2]["content"]
    assert [(each["tool_use_id"], each["content"], each.get("is_error")) for each in results] == [
        ("a", [said("one"), image("image/png", "MQ=="), image("image/webp", "Mg==")], None),
        ("b", [said("[Image: image/bmp]")], None),
        ("c", [said("no"), said("[Image: image/png]")], True),
        ("d", "(no output)", None),
        ("e", "(no output)", None),
        ("f", "(no output)", None),
    ]


async def test_messages_with_nothing_in_them_are_not_sent(provider, model):
    provider.streams(*HELLO)
    thoughts = {"anthropic": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}

    await ask(
        await model(),
        Message("system", " "),
        USER,
        Message("assistant", "\n"),
        Message("assistant", "", provider_data=thoughts),
        Message("user", [Text("")]),
    )

    assert provider.bodies[0] == {
        "model": "claude-test",
        "max_tokens": 8192,
        "stream": True,
        "messages": [{"role": "user", "content": "hi"}],
    }


async def test_ids_of_other_providers_are_put_in_the_apis_alphabet(provider, model):
    provider.streams(*HELLO)

    await ask(
        await model(),
        USER,
        Message("assistant", "", [ToolCall("functions.read:0", "read", "{}")]),
        Message("tool", "milk", tool_call_id="functions.read:0"),
    )

    _, turn, answer = provider.bodies[0]["messages"]
    assert turn["content"][0]["id"] == answer["content"][0]["tool_use_id"] == "functions_read_0"


async def test_half_a_surrogate_pair_does_not_end_a_run(provider, model):
    provider.streams(*HELLO)

    await ask(await model(), Message("user", "\ud83d"))

    assert provider.bodies[0]["messages"] == [{"role": "user", "content": "\ud83d"}]


async def test_each_message_is_encoded_once(provider, model):
    provider.streams(*HELLO)
    provider.streams(*HELLO)
    opened = await model()
    messages = [USER, Message("assistant", "", [ToolCall("a", "read", "{}")]), Message("tool", "x", tool_call_id="a")]
    await ask(opened, *messages)
    kept = [message.wire["anthropic"] for message in messages]

    await ask(opened, *messages, USER)

    assert all(message.wire["anthropic"] is wire for message, wire in zip(messages, kept, strict=True))
    assert provider.bodies[1]["messages"][:3] == provider.bodies[0]["messages"]


async def test_text_streams_piece_by_piece_with_usage_and_reason(provider, model):
    usage = {"output_tokens": 5, "output_tokens_details": {"thinking_tokens": 2}}
    provider.streams(
        start(input_tokens=10, cache_read_input_tokens=4, cache_creation_input_tokens=3, output_tokens=1),
        {"type": "ping"},
        *text(0, "Hel", "lo"),
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": usage},
        {"type": "message_stop"},
    )

    assert await ask(await model()) == (
        ["Hel", "lo"],
        TurnEnd([], "length", Usage(17, 5, 22, 4, 2, cache_write_tokens=3)),
    )


async def test_first_piece_comes_before_the_last_is_sent(provider, model):
    provider.streams(start(), *text(0, "now")[:2], hang=True)

    with anyio.fail_after(5):
        async with aclosing((await model()).generate(ModelRequest([USER]))) as turn:
            assert await anext(turn) == TextDelta("now")
        await provider.closed.wait()


async def test_answer_in_one_piece_is_understood(provider, model):
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    use = {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}}
    content = [thought, {"type": "text", "text": "I look.", "citations": None}, use]
    usage = {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": None}
    provider.answers_whole({"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage})

    assert await ask(await model(), tools=[READ]) == (
        ["I look."],
        TurnEnd([ToolCall("a", "read", '{"path":"x"}')], "tool-calls", Usage(3, 4, 7), {"anthropic": content}),
    )


async def test_tool_calls_come_in_fragments_and_side_by_side(provider, model):
    first, second = call(1, "a", "read", '{"pa', 'th": "x"}'), call(2, "b", "list")
    provider.streams(
        *(start(), *text(0, "I look."), first[0], second[0], *first[1:], *second[1:]),
        *stop("tool_use"),
    )

    deltas, end = await ask(await model(), tools=[READ])

    calls = [ToolCall("a", "read", '{"path": "x"}'), ToolCall("b", "list", "")]
    assert (deltas, end) == (["I look."], TurnEnd(calls, "tool-calls", Usage()))


@pytest.mark.parametrize(("pieces", "arguments"), [([], "{"), ([""], "{"), (['{"path": "x'], '{"path": "x')])
async def test_call_that_the_limit_cut_is_broken_and_not_empty(provider, model, pieces, arguments):
    provider.streams(start(), *call(0, "a", "read", *pieces), *stop("max_tokens"))

    _, end = await ask(await model(), tools=[READ])

    assert end.tool_calls == [ToolCall("a", "read", arguments)]


async def test_thoughts_and_other_blocks_go_back_untouched(provider, model):
    search = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"encrypted_content": "e"}]}
    provider.streams(
        start(),
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "I "},
            {"type": "thinking_delta", "thinking": "think"},
            {"type": "signature_delta", "signature": "sig"},
        ),
        *block(1, {"type": "redacted_thinking", "data": "secret"}),
        *block(
            2,
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"query": "x"}'},
        ),
        *block(3, search),
        *block(
            4,
            {"type": "text", "text": ""},
            {"type": "text_delta", "text": "I look."},
            {"type": "citations_delta", "citation": {"url": "u"}},
            {"type": "delta_of_tomorrow", "text": "?"},
        ),
        *call(5, "a", "read", '{"path": "x"}'),
        {"type": "event_of_tomorrow", "delta": "what?"},
        *stop("tool_use"),
    )
    provider.streams(*HELLO)
    opened = await model()

    deltas, end = await ask(opened, tools=[READ])
    turn = Message("assistant", "".join(deltas), list(end.tool_calls), provider_data=end.provider_data)
    await ask(opened, USER, turn, Message("tool", "milk", tool_call_id="a"), tools=[READ])

    assert deltas == ["I look."]
    assert end.tool_calls == [ToolCall("a", "read", '{"path": "x"}')]
    assert provider.bodies[1]["messages"][1] == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I think", "signature": "sig"},
            {"type": "redacted_thinking", "data": "secret"},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
            search,
            {"type": "text", "text": "I look.", "citations": [{"url": "u"}]},
            {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}},
        ],
    }


async def test_calls_that_nobody_answered_do_not_go_back(provider, model):
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    use = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    blocks = [thought, {"type": "text", "text": "I look."}, {"type": "text", "text": " "}, use]
    provider.streams(*HELLO)

    await ask(await model(), USER, Message("assistant", "I look.", provider_data={"anthropic": blocks}), USER)

    assert provider.bodies[0]["messages"][1] == {"role": "assistant", "content": blocks[:2]}


async def test_paused_turn_goes_on_where_it_was(provider, model):
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    provider.streams(start(input_tokens=5), *text(0, "I search."), *block(1, use), *stop("pause_turn", 2))
    provider.streams(start(input_tokens=9), *text(0, "Found."), *stop("end_turn", 3))

    deltas, end = await ask(await model(), Message("system", "Be brief."), USER)

    blocks = [{"type": "text", "text": "I search."}, use, {"type": "text", "text": "Found."}]
    assert (deltas, end) == (
        ["I search.", "Found."],
        TurnEnd([], "stop", Usage(14, 5, 19), {"anthropic": blocks}),
    )
    first, second = provider.bodies
    assert second == {**first, "messages": [*first["messages"], {"role": "assistant", "content": blocks[:2]}]}


async def test_pauses_end(provider, model):
    for _ in range(21):
        provider.streams(start(), *stop("pause_turn"))

    _, end = await ask(await model())

    assert (end.finish_reason, len(provider.requests)) == ("other", 21)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content-filter"),
        ("reason_of_tomorrow", "other"),
    ],
)
async def test_finish_reasons_are_mapped(provider, model, reason, expected):
    provider.streams(start(), *text(0, "x"), *stop(reason))

    assert (await ask(await model()))[1].finish_reason == expected


async def test_refusal_tells_why_and_calls_nothing(provider, model):
    details = {"type": "refusal", "category": "cyber", "explanation": "I must not."}
    provider.streams(start(), *call(0, "a", "read", "{}"), *stop("refusal", stop_details=details))
    provider.streams(start(), *text(0, "No."), *stop("refusal", stop_details=details))
    opened = await model()

    silent, told = await ask(opened, tools=[READ]), await ask(opened)

    assert (silent[0], silent[1].tool_calls, silent[1].finish_reason) == (["I must not."], [], "content-filter")
    assert (told[0], told[1].finish_reason) == (["No."], "content-filter")


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_pieces_of_any_size_are_read(provider, model, size):
    events = [start(), *text(0, "süß 🍯", "!"), *stop("end_turn")]
    raw = "".join(
        f"event: {event['type']}\r\ndata: {json.dumps(event, ensure_ascii=False)}\r\n\r\n" for event in events
    ).encode()
    provider.will(Answered(*[raw[place : place + size] for place in range(0, len(raw), size)]))

    assert await ask(await model()) == (["süß 🍯", "!"], TurnEnd([], "stop", Usage()))


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, "invalid_request_error", "ERR_MODEL_HTTP"),
        (401, "authentication_error", "ERR_MODEL_AUTH"),
        (403, "permission_error", "ERR_MODEL_AUTH"),
        (404, "not_found_error", "ERR_MODEL_HTTP"),
        (413, "request_too_large", "ERR_MODEL_HTTP"),
    ],
)
async def test_refused_request_carries_status_and_words_of_the_provider(provider, model, status, kind, code):
    error = {"type": kind, "message": f"no, {KEY}, hush"}
    provider.refuses(status, {"type": "error", "error": error, "request_id": "req_1"}, **{"request-id": "req_1"})

    error = await fail(await model())

    assert (error.code, error.resource) == (code, "Claude")
    assert error.message == f"the provider answered {status}: no, ***, *** (request req_1)"
    assert error.details == {"status": status, "requestId": "req_1"}
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("kind", "code", "status"),
    [
        ("overloaded_error", "ERR_MODEL_HTTP", 529),
        ("api_error", "ERR_MODEL_HTTP", 500),
        ("rate_limit_error", "ERR_MODEL_RATE_LIMIT", 429),
        ("authentication_error", "ERR_MODEL_AUTH", 401),
    ],
)
async def test_error_within_a_stream_is_an_error(provider, model, kind, code, status):
    told = {"type": "error", "error": {"type": kind, "message": "no more, hush"}, "request_id": "r"}
    provider.streams(start(), *text(0, "so far"), told)

    error = await fail(await model())

    assert (error.code, error.message) == (code, "the provider broke off: no more, ***")
    assert error.details == {"status": status}


@pytest.mark.parametrize(
    "body",
    [
        b"data: {oops\n\n",
        b"data: 5\n\n",
        b'data: {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "x"}}\n\n',
        b'data: {"type": "content_block_start", "index": 0, "content_block": "x"}\n\n',
    ],
)
async def test_answer_that_makes_no_sense_is_an_error(provider, model, body):
    provider.will(Answered(body))

    error = await fail(await model())

    assert error.code == "ERR_MODEL_RESPONSE"
    assert error.message.startswith("the provider's answer makes no sense: ")


async def test_answer_that_ends_too_early_is_an_error(provider, model):
    provider.streams(start(), *text(0, "half"))

    error = await fail(await model())

    assert (error.code, error.message) == ("ERR_MODEL_RESPONSE", "the provider's answer ended before it was complete")


async def test_connection_that_breaks_within_an_answer_is_not_retried(provider, model):
    provider.streams(start(), *text(0, "half"), cut=True)

    error = await fail(await model())

    assert error.code == "ERR_MODEL_CONNECTION"
    assert len(provider.requests) == 1


async def test_silent_provider_is_a_timeout(provider, model):
    provider.will(Answered(hang=True))

    with anyio.fail_after(5):
        error = await fail(await model(timeoutMs=50, maxRetries=0))

    assert error.code == "ERR_MODEL_TIMEOUT"


@pytest.mark.parametrize("status", [429, 500, 529])
async def test_failure_for_now_is_retried(provider, model, context, status):
    busy = {"type": "error", "error": {"type": "x", "message": "busy"}}
    provider.refuses(status, busy, **{"retry-after": "0"})
    provider.streams(*HELLO)

    assert (await ask(await model()))[0] == ["hello"]

    assert provider.requests[0].raw == provider.requests[1].raw
    assert context.lines == [f"the provider answered {status}: busy; retry 1 of 2 in 0.0 s"]


async def test_retries_end(provider, model):
    for _ in range(2):
        provider.refuses(429, {}, **{"retry-after": "0"})

    error = await fail(await model(maxRetries=1))

    assert (error.code, len(provider.requests)) == ("ERR_MODEL_RATE_LIMIT", 2)


@pytest.mark.parametrize(
    ("fields", "places"),
    [
        ("options: { temperature: 0.5, topK: 3 }", [(4, 25), (4, 36)]),
        ("options: { temperature: null, maxTokens: 9 }", []),
        ('options: { temperature: 0.5 }\napiVersion: "2023-06-01"', []),
        ("options: { temperature: 0.5 }\nbaseUrl: http://127.0.0.1:1", []),
    ],
)
def test_options_that_the_version_refuses_are_found_before_anything_starts(tmp_path, fields, places):
    manifest = tmp_path / "model.yaml"
    manifest.write_text(
        f"kind: AiAnthropic.AnthropicModel\nmetadata: {{ name: Claude }}\nmodel: claude-test\n{fields}\napiKey: x\n"
    )

    found = [each for each in runtime.validate(str(manifest)) if each.severity == "error"]

    assert [(each.code, each.line, each.column) for each in found] == [("SCHEMA_VALUE", *place) for place in places]


async def test_image_of_another_models_turn_is_named(provider, model):
    provider.streams(*HELLO)

    await ask(await model(), USER, Message("assistant", [Text("Here."), Image("aGk=", "image/png")]), USER)

    assert provider.bodies[0]["messages"][1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "Here.\n[Image: image/png]"}],
    }
