"""`AiGoogle.GeminiModel` over real HTTP on loopback: bodies, streams, errors, retries."""

import json
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from servers.provider import KEY, Answered, ask, fail

from runtime.ai.contracts import Image, Message, ModelRequest, Text, TextDelta, Tool, ToolCall, TurnEnd, Usage

pytestmark = pytest.mark.anyio

USER = Message("user", "hi")
USER_WIRE = {"role": "user", "parts": [{"text": "hi"}]}
READ = Tool(
    "read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
)
TOOLS_WIRE = [
    {
        "functionDeclarations": [
            {"name": "read", "description": "Read a file.", "parametersJsonSchema": dict(READ.parameters)}
        ]
    }
]


def chunk(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **more}


def call(tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    signature = {"thoughtSignature": more.pop("signature")} if "signature" in more else {}
    return {"functionCall": {"name": tool, **({} if arguments is None else {"args": arguments}), **more}, **signature}


HELLO = chunk({"text": "hello"}, finish="STOP")


async def test_request_is_what_the_api_takes(provider, model):
    provider.streams(HELLO)

    await ask(await model(), Message("system", "Be brief."), USER, tools=[READ])

    (request,) = provider.requests
    assert (request.method, request.path) == ("POST", "/v1/models/gemini-3-test:streamGenerateContent?alt=sse")
    assert request.headers["x-goog-api-key"] == KEY
    assert request.headers["content-type"] == "application/json"
    assert request.body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [USER_WIRE],
        "tools": TOOLS_WIRE,
    }


async def test_address_follows_version_model_and_query(provider, model):
    provider.streams(HELLO)
    provider.streams(HELLO)

    await ask(await model(apiVersion="v1beta", model="models/gemini 3", baseUrl=f"{provider.url}/", query={"a": "b c"}))
    await ask(await model(model="tunedModels/x", headers={"X-Goog-Api-Key": "other"}))

    assert [request.path for request in provider.requests] == [
        "/v1beta/models/gemini%203:streamGenerateContent?alt=sse&a=b+c",
        "/v1/tunedModels/x:streamGenerateContent?alt=sse",
    ]
    assert provider.requests[1].headers["x-goog-api-key"] == "other"


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("read", {"mode": "ANY", "allowedFunctionNames": ["read"]}),
    ],
)
async def test_tool_choice_is_spelt_as_the_api_does(provider, model, choice, wire):
    provider.streams(HELLO)

    opened = await model(options={"toolConfig": {"retrievalConfig": {"languageCode": "de"}}})
    await ask(opened, tools=[READ], tool_choice=choice)

    assert provider.bodies[0]["toolConfig"] == {
        "retrievalConfig": {"languageCode": "de"},
        "functionCallingConfig": wire,
    }


async def test_request_without_tools_has_no_word_of_them(provider, model):
    provider.streams(HELLO)

    await ask(await model(options={"toolConfig": {}}), tool_choice="required")

    assert provider.bodies[0] == {"contents": [USER_WIRE]}


async def test_options_go_where_the_api_has_them_and_the_calls_go_before_the_models(provider, model):
    provider.streams(HELLO)
    options = {
        "temperature": 0,
        "topP": 0.5,
        "thinkingConfig": {"thinkingLevel": "low"},
        "generationConfig": {"seed": 1, "temperature": 2},
        "safetySettings": [{"category": "x"}],
        "contents": [],
        "tools": [],
    }

    await ask(await model(options=options), options={"temperature": 1, "topP": None, "maxOutputTokens": 9})

    assert provider.bodies[0] == {
        "generationConfig": {
            "seed": 1,
            "temperature": 1,
            "thinkingConfig": {"thinkingLevel": "low"},
            "maxOutputTokens": 9,
        },
        "safetySettings": [{"category": "x"}],
        "contents": [USER_WIRE],
    }


async def test_conversation_of_another_model_goes_out_signed_as_such(provider, model):
    provider.streams(HELLO)

    await ask(
        await model(),
        Message("user", [Text("look"), Image("aGk=", "image/jpg"), Text("")]),
        Message("assistant", "I look.", [ToolCall("a", "read", '{"path": "x"}'), ToolCall("b", "read", "")]),
        Message("tool", "milk", tool_call_id="a", name="read"),
        Message("tool", "no such file", tool_call_id="b", name="read", is_error=True),
        Message("assistant", "", [ToolCall("c", "read", '{"path": ')]),
        Message("tool", "", tool_call_id="c", name="read"),
        Message("assistant", "Sorry."),
        Message("system", "Be kind."),
        Message("user", "Again."),
    )

    def result(name: str, **response: str) -> dict[str, Any]:
        return {"functionResponse": {"id": name, "name": "read", "response": response}}

    signature = "skip_thought_signature_validator"
    assert provider.bodies[0] == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/jpeg", "data": "aGk="}}]},
            {
                "role": "model",
                "parts": [
                    {"text": "I look."},
                    call("read", {"path": "x"}, id="a", signature=signature),
                    call("read", {}, id="b"),
                ],
            },
            {"role": "user", "parts": [result("a", output="milk"), result("b", error="no such file")]},
            {
                "role": "model",
                "parts": [call("read", {"invalid_json": '{"path": '}, id="c", signature=signature)],
            },
            {"role": "user", "parts": [result("c", output="(no output)")]},
            {"role": "model", "parts": [{"text": "Sorry."}]},
            {"role": "user", "parts": [{"text": "Again."}]},
        ],
    }


SHOTS = [
    USER,
    Message("assistant", "", [ToolCall("a", "shot", "{}"), ToolCall("b", "shot", "{}")]),
    Message("tool", [Text("one"), Image("MQ==", "image/png")], tool_call_id="a", name="shot"),
    Message("tool", [Image("Mg==", "image/webp"), Image("Mw==", "image/bmp")], tool_call_id="b", name="shot"),
]
PNG = {"inlineData": {"mimeType": "image/png", "data": "MQ=="}}
WEBP = {"inlineData": {"mimeType": "image/webp", "data": "Mg=="}}


async def test_results_hold_their_images(provider, model):
    provider.streams(HELLO)

    await ask(await model(), *SHOTS)

    first = {"output": "one\n[Image: image/png]"}
    second = {"output": "[Image: image/webp]\n[Image: image/bmp]"}
    assert provider.bodies[0]["contents"][2]["parts"] == [
        {"functionResponse": {"id": "a", "name": "shot", "response": first, "parts": [PNG]}},
        {"functionResponse": {"id": "b", "name": "shot", "response": second, "parts": [WEBP]}},
    ]


async def test_images_follow_the_results_for_models_before_gemini_3(provider, model):
    provider.streams(HELLO)
    provider.streams(HELLO)

    await ask(await model(model="gemini-2.5-flash"), *SHOTS)
    await ask(await model(), *SHOTS)

    old, new = provider.bodies
    results = old["contents"][2]["parts"]
    assert [list(part) for part in results] == [["functionResponse"], ["functionResponse"], *([["inlineData"]] * 2)]
    assert results[2:] == [PNG, WEBP]
    assert "parts" not in results[0]["functionResponse"]
    assert "thoughtSignature" not in old["contents"][1]["parts"][0]
    assert new["contents"][2]["parts"][0]["functionResponse"]["parts"] == [PNG]


async def test_messages_with_nothing_in_them_are_not_sent(provider, model):
    provider.streams(HELLO)
    thoughts = {"gemini": [{"text": "hm", "thought": True}]}

    await ask(
        await model(),
        Message("system", ""),
        USER,
        Message("assistant", ""),
        Message("assistant", "", provider_data=thoughts),
        Message("user", [Text("")]),
    )

    assert provider.bodies[0] == {"contents": [USER_WIRE]}


async def test_each_message_is_encoded_once(provider, model):
    provider.streams(HELLO)
    provider.streams(HELLO)
    opened = await model()
    messages = [*SHOTS]
    await ask(opened, *messages)
    kept = [message.wire["gemini-3"] for message in messages]

    await ask(opened, *messages, USER)

    assert all(message.wire["gemini-3"] is wire for message, wire in zip(messages, kept, strict=True))
    assert provider.bodies[1]["contents"][:3] == provider.bodies[0]["contents"]


async def test_text_streams_piece_by_piece_with_usage_and_reason(provider, model):
    usage = {
        "promptTokenCount": 10,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 2,
        "totalTokenCount": 17,
    }
    provider.streams(
        chunk({"text": "Hel"}, usageMetadata={"promptTokenCount": 10}),
        chunk({"text": "lo"}),
        chunk(finish="MAX_TOKENS", usageMetadata=usage),
        line_end="\r\n",
    )

    assert await ask(await model()) == (["Hel", "lo"], TurnEnd([], "length", Usage(10, 7, 17, 4, 2)))


async def test_first_piece_comes_before_the_last_is_sent(provider, model):
    provider.streams(chunk({"text": "now"}), hang=True)

    with anyio.fail_after(5):
        async with aclosing((await model()).generate(ModelRequest([USER]))) as turn:
            assert await anext(turn) == TextDelta("now")
        await provider.closed.wait()


@pytest.mark.parametrize("is_list", [False, True])
async def test_answer_in_one_piece_is_understood(provider, model, is_list):
    whole = chunk({"text": "I look."}, call("read", {"path": "x"}, id="a"), finish="STOP")
    provider.answers_whole([chunk({"text": "Well. "}), whole] if is_list else whole)

    deltas, end = await ask(await model(), tools=[READ])

    assert "".join(deltas) == ("Well. I look." if is_list else "I look.")
    assert (end.tool_calls, end.finish_reason) == ([ToolCall("a", "read", '{"path":"x"}')], "tool-calls")


async def test_parallel_calls_come_in_chunks_and_may_have_neither_id_nor_arguments(provider, model):
    provider.streams(chunk(call("read", {"path": "x"})), chunk(call("list")), chunk(finish="STOP"))

    _, end = await ask(await model(), tools=[READ])

    assert (end.tool_calls, end.finish_reason) == (
        [ToolCall("", "read", '{"path":"x"}'), ToolCall("", "list", "{}")],
        "tool-calls",
    )


async def test_parts_go_back_untouched_and_results_without_an_id_where_there_was_none(provider, model):
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    provider.streams(
        chunk({"text": "I ", "thought": True}),
        chunk({"text": "think", "thought": True}),
        chunk({"text": "Let me "}, {"text": "look."}),
        chunk({"text": ""}),
        chunk({"text": "", "thoughtSignature": "czE="}, image),
        chunk(call("read", {"path": "x"}, signature="czI=")),
        chunk(call("read", {"path": "y"}, id="own"), finish="STOP"),
    )
    provider.streams(HELLO)
    opened = await model()

    deltas, end = await ask(opened, tools=[READ])
    calls = [ToolCall(f"call_{place}", each.name, each.arguments) for place, each in enumerate(end.tool_calls)]
    turn = Message("assistant", "".join(deltas), calls, provider_data=end.provider_data)
    results = [Message("tool", "milk", tool_call_id=each.id, name="read") for each in calls]
    await ask(opened, USER, turn, *results, tools=[READ])

    assert "".join(deltas) == "Let me look."
    response = {"name": "read", "response": {"output": "milk"}}
    assert provider.bodies[1]["contents"][1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "I think", "thought": True},
                {"text": "Let me look."},
                {"text": "", "thoughtSignature": "czE="},
                image,
                call("read", {"path": "x"}, signature="czI="),
                call("read", {"path": "y"}, id="own"),
            ],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": response}, {"functionResponse": {"id": "own", **response}}],
        },
    ]


async def test_calls_that_nobody_answered_do_not_go_back(provider, model):
    parts = [{"text": "I look.", "thoughtSignature": "c2ln"}, call("read", {})]
    provider.streams(HELLO)

    await ask(await model(), USER, Message("assistant", "I look.", provider_data={"gemini": parts}), USER)

    assert provider.bodies[0]["contents"][1] == {"role": "model", "parts": parts[:1]}


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content-filter"),
        ("RECITATION", "content-filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("MISSING_THOUGHT_SIGNATURE", "error"),
        ("OTHER", "other"),
        ("REASON_OF_TOMORROW", "other"),
    ],
)
async def test_finish_reasons_are_mapped(provider, model, reason, expected):
    provider.streams(chunk({"text": "x"}, finish=reason))

    assert (await ask(await model()))[1].finish_reason == expected


async def test_what_is_held_back_is_told_in_the_apis_words_and_calls_nothing(provider, model):
    filtered = chunk(call("read", {}), finish="SAFETY")
    filtered["candidates"][0]["finishMessage"] = "Not this."
    provider.streams({"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "Not that."}})
    provider.streams({"promptFeedback": {"blockReason": "OTHER"}})
    provider.streams(filtered)
    opened = await model()

    answers = [await ask(opened, tools=[READ]) for _ in range(3)]

    assert [(deltas, end.tool_calls, end.finish_reason) for deltas, end in answers] == [
        (["Not that."], [], "content-filter"),
        ([], [], "content-filter"),
        (["Not this."], [], "content-filter"),
    ]


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_pieces_of_any_size_are_read(provider, model, size):
    chunks = [chunk({"text": "süß 🍯"}), chunk({"text": "!"}, finish="STOP")]
    raw = "".join(f"data: {json.dumps(each, ensure_ascii=False)}\r\n\r\n" for each in chunks).encode()
    provider.will(Answered(*[raw[place : place + size] for place in range(0, len(raw), size)]))

    assert await ask(await model()) == (["süß 🍯", "!"], TurnEnd([], "stop", Usage()))


@pytest.mark.parametrize(
    ("status", "words", "code"),
    [
        (400, "API key not valid. Please pass a valid API key.", "ERR_MODEL_AUTH"),
        (400, f"no, {KEY}, hush", "ERR_MODEL_HTTP"),
        (403, "no access", "ERR_MODEL_AUTH"),
        (404, "no such model", "ERR_MODEL_HTTP"),
    ],
)
async def test_refused_request_carries_status_and_words_of_the_provider(provider, model, status, words, code):
    provider.refuses(status, {"error": {"code": status, "message": words, "status": "INVALID_ARGUMENT"}})

    error = await fail(await model())

    assert (error.code, error.resource, error.details) == (code, "Gemini", {"status": status})
    assert error.message == f"the provider answered {status}: {words.replace(KEY, '***').replace('hush', '***')}"
    assert len(provider.requests) == 1


async def test_error_within_a_stream_is_an_error(provider, model):
    provider.streams(chunk({"text": "so far"}), {"error": {"code": 503, "message": "no more, hush"}})
    provider.streams({"error": {"code": 429, "message": "slow down"}})
    opened = await model()

    first, second = await fail(opened), await fail(opened)

    assert (first.code, first.message, first.details) == (
        "ERR_MODEL_HTTP",
        "the provider broke off: no more, ***",
        {"status": 503},
    )
    assert (second.code, second.message) == ("ERR_MODEL_RATE_LIMIT", "the provider broke off: slow down")


@pytest.mark.parametrize("body", [b"data: {oops\n\n", b'data: {"candidates": 5}\n\n', b'data: "x"\n\n'])
async def test_answer_that_makes_no_sense_is_an_error(provider, model, body):
    provider.will(Answered(body))

    error = await fail(await model())

    assert error.code == "ERR_MODEL_RESPONSE"
    assert error.message.startswith("the provider's answer makes no sense: ")


async def test_answer_that_ends_too_early_is_an_error(provider, model):
    provider.streams(chunk({"text": "half"}))

    error = await fail(await model())

    assert (error.code, error.message) == ("ERR_MODEL_RESPONSE", "the provider's answer ended before it was complete")


async def test_connection_that_breaks_within_an_answer_is_not_retried(provider, model):
    provider.streams(chunk({"text": "half"}), cut=True)

    error = await fail(await model())

    assert error.code == "ERR_MODEL_CONNECTION"
    assert len(provider.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_failure_for_now_is_retried(provider, model, context, status):
    provider.refuses(status, {"error": {"code": status, "message": "busy"}}, **{"retry-after": "0"})
    provider.streams(HELLO)

    assert (await ask(await model()))[0] == ["hello"]

    assert provider.requests[0].raw == provider.requests[1].raw
    assert context.lines == [f"the provider answered {status}: busy; retry 1 of 2 in 0.0 s"]


def busy(delay: Any) -> dict[str, Any]:
    quota = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaMetric": "requests"}]}
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    return {"error": {"code": 429, "message": "busy", "status": "RESOURCE_EXHAUSTED", "details": [quota, retry]}}


@pytest.mark.parametrize("is_list", [False, True])
async def test_a_delay_in_the_details_of_an_error_is_waited_for(provider, model, context, is_list):
    provider.refuses(429, [busy("0.002s")] if is_list else busy("0.002s"))
    provider.streams(HELLO)

    assert (await ask(await model()))[0] == ["hello"]

    assert context.lines == ["the provider answered 429: busy; retry 1 of 2 in 0.0 s"]


async def test_a_header_goes_before_the_delay_in_the_details(provider, model, context):
    provider.refuses(429, busy("121s"), **{"retry-after": "0"})
    provider.streams(HELLO)

    assert (await ask(await model()))[0] == ["hello"]

    assert context.lines == ["the provider answered 429: busy; retry 1 of 2 in 0.0 s"]


async def test_a_delay_in_the_details_that_is_too_long_is_not_waited_for(provider, model):
    provider.refuses(429, busy("43210.5s"))

    with anyio.fail_after(30):
        error = await fail(await model())

    assert (error.code, len(provider.requests)) == ("ERR_MODEL_RATE_LIMIT", 1)


@pytest.mark.parametrize("delay", [None, "soon", "nans", {"seconds": 1}])
async def test_a_delay_that_is_none_leaves_the_wait_to_us(provider, model, delay):
    provider.refuses(429, busy(delay))

    error = await fail(await model(maxRetries=0))

    assert (error.code, error.details) == ("ERR_MODEL_RATE_LIMIT", {"status": 429})


DRAWN = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}


async def test_images_of_the_model_are_images_of_the_turn(provider, model):
    thought = {"inlineData": {"mimeType": "image/png", "data": "dGg="}, "thought": True}
    signed = {**DRAWN, "thoughtSignature": "s1"}
    provider.streams(chunk({"text": "Here: "}), chunk(thought), chunk(signed), chunk({"text": "done"}, finish="STOP"))
    provider.streams(HELLO)
    opened = await model(options={"responseModalities": ["TEXT", "IMAGE"]})

    deltas, end = await ask(opened)
    turn = Message("assistant", [Text("Here: done"), *end.images], provider_data=end.provider_data)
    await ask(opened, USER, turn, USER)

    assert deltas == ["Here: ", "done"]
    assert (end.images, end.rest, end.finish_reason) == ((Image("aGk=", "image/png"),), (), "stop")
    assert provider.bodies[0]["generationConfig"] == {"responseModalities": ["TEXT", "IMAGE"]}
    parts = [{"text": "Here: "}, thought, signed, {"text": "done"}]
    assert provider.bodies[1]["contents"] == [USER_WIRE, {"role": "model", "parts": parts}, USER_WIRE]


async def test_what_a_model_makes_that_has_no_form_of_ours_is_kept_for_the_trace(provider, model):
    audio = {"inlineData": {"mimeType": "audio/wav", "data": "aGk="}}
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    provider.streams(chunk({"text": "thinking", "thought": True}, audio, code, {"text": "a"}, finish="STOP"))

    deltas, end = await ask(await model())

    assert (deltas, end.images, end.rest) == (["a"], (), (audio, code))


async def test_image_that_is_held_back_is_none(provider, model):
    provider.streams(chunk(DRAWN, finish="IMAGE_SAFETY", finishMessage="not shown"))

    _, end = await ask(await model())

    assert (end.finish_reason, end.images) == ("content-filter", ())


async def test_image_that_another_model_made_is_an_image_of_the_turn(provider, model):
    provider.streams(HELLO)

    await ask(await model(), USER, Message("assistant", [Text("Here."), Image("aGk=", "image/png")]), USER)

    assert provider.bodies[0]["contents"][1] == {"role": "model", "parts": [{"text": "Here."}, DRAWN]}
