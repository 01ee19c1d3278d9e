"""Reasoning and signatures of servers that speak Chat Completions: carried through the turns of a run."""

from collections.abc import Mapping
from typing import Any

import pytest
from servers.provider import ask

from runtime.ai.contracts import Message, ToolCall

pytestmark = pytest.mark.anyio

USER = Message("user", "hi")
CALL = {"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
CALL_WIRE = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
RESULT = Message("tool", "milk", tool_call_id="a", name="read")


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


async def carry(provider: Any, model: Any, *chunks: Mapping[str, Any]) -> dict[str, Any]:
    """The message in which the turn goes back to the server."""
    provider.chunks(*chunks)
    opened = await model()
    texts, end = await ask(opened, USER)
    provider.says("done")
    turn = Message("assistant", "".join(texts), list(end.tool_calls), provider_data=end.provider_data)
    await ask(opened, USER, turn, RESULT)
    message: dict[str, Any] = provider.requests[1].body["messages"][1]
    return message


async def test_reasoning_goes_back_with_the_calls_that_it_led_to(provider, model):
    message = await carry(
        provider,
        model,
        chunk(role="assistant", content=None, reasoning_content=""),
        chunk(reasoning_content="I should "),
        chunk(reasoning_content="look.", reasoning=None),
        chunk(content="I look.", tool_calls=[CALL]),
        chunk("tool_calls"),
    )

    assert message == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [CALL_WIRE],
        "reasoning_content": "I should look.",
    }


async def test_empty_reasoning_goes_back_too(provider, model):
    message = await carry(provider, model, chunk("tool_calls", reasoning_content="", tool_calls=[CALL]))

    assert message["reasoning_content"] == ""


async def test_details_of_reasoning_are_put_together_and_go_back_in_their_order(provider, model):
    def text(index: int, piece: str, **more: Any) -> dict[str, Any]:
        return {"type": "reasoning.text", "index": index, "text": piece, **more}

    message = await carry(
        provider,
        model,
        chunk(reasoning="I ", reasoning_details=[text(0, "I ", id="r", signature=None)]),
        chunk(reasoning="see.", reasoning_details=[text(0, "see.", signature="c2ln")]),
        chunk(reasoning_details=[{"type": "reasoning.encrypted", "index": 0, "data": "ZW5j"}, text(1, "So.")]),
        chunk("tool_calls", tool_calls=[CALL]),
    )

    assert message == {
        "role": "assistant",
        "content": None,
        "tool_calls": [CALL_WIRE],
        "reasoning": "I see.",
        "reasoning_details": [
            text(0, "I see.", id="r", signature="c2ln"),
            {"type": "reasoning.encrypted", "index": 0, "data": "ZW5j"},
            text(1, "So."),
        ],
    }


async def test_what_a_call_brings_goes_back_on_that_call(provider, model):
    signed = {"google": {"thought_signature": "c2ln"}}
    other = {**CALL, "index": 1, "id": "b"}

    message = await carry(
        provider, model, chunk(tool_calls=[CALL]), chunk("tool_calls", tool_calls=[{**other, "extra_content": signed}])
    )

    assert message["tool_calls"] == [CALL_WIRE, {**CALL_WIRE, "id": "b", "extra_content": signed}]


async def test_a_turn_without_additions_or_without_calls_goes_back_as_the_api_has_it(provider, model):
    plain = await carry(provider, model, chunk("tool_calls", tool_calls=[CALL]))
    provider.requests.clear()
    answer = await carry(provider, model, chunk("stop", content="done", reasoning_content="hm"))

    assert plain == {"role": "assistant", "content": None, "tool_calls": [CALL_WIRE]}
    assert answer == {"role": "assistant", "content": "done"}


async def test_an_answer_in_one_piece_brings_the_same(provider, model, answered):
    body = (
        b'{"choices": [{"message": {"content": "", "reasoning_content": "hm", "tool_calls": [{"id": "a", "type":'
        b' "function", "function": {"name": "read", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]}'
    )
    provider.will(answered(body, content_type="application/json"))

    _, end = await ask(await model(), USER)

    assert end.tool_calls == [ToolCall("a", "read", "{}")]
    assert end.provider_data == {"openai": {"message": {"reasoning_content": "hm"}, "calls": [{}]}}


@pytest.mark.parametrize(
    "odd",
    [
        {},
        "text",
        {"openai": None},
        {"openai": {"message": {}, "calls": [{}, {}, {}]}},
        {"openai": {"message": "text", "calls": ["text"]}},
        {"openai": {"calls": "text"}},
    ],
)
async def test_data_of_another_form_does_no_harm(provider, model, odd):
    provider.says("done")

    await ask(await model(), USER, Message("assistant", "", [ToolCall("a", "read", "{}")], provider_data=odd), RESULT)

    assert provider.requests[0].body["messages"][1]["tool_calls"] == [CALL_WIRE]


async def test_an_answer_that_said_nothing_goes_back_as_empty_text(provider, model):
    provider.says("done")

    await ask(await model(), USER, Message("assistant", ""), USER)

    assert provider.requests[0].body["messages"][1] == {"role": "assistant", "content": ""}
