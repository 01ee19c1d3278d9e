"""Inputs of an agent: what is taken, what is refused, what a run starts with."""

from typing import Any

import pytest

from runtime.ai.contracts import Image, Message, Text, ToolCall
from runtime.ai.inputs import read_inputs, start_messages
from runtime.errors import AgentError


def start(inputs: dict[str, Any], system: str = "") -> list[Message]:
    return start_messages(read_inputs(inputs), system)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({}, "the inputs need one of `prompt` and `messages`, and have neither"),
        ({"prompt": "a", "messages": []}, "the inputs need one of `prompt` and `messages`, and have both"),
        ({"messages": []}, "the inputs have an empty list of `messages`"),
        ({"prompt": 5}, "the inputs do not fit: Expected `str`, got `int` - at `$.prompt`"),
        ({"prompt": None}, "the inputs do not fit: Expected `str`, got `null` - at `$.prompt`"),
        ({"promt": "a"}, "the inputs do not fit: Object contains unknown field `promt`"),
        ({"messages": ["hi"]}, "`messages[0]` does not fit: Expected `object`, got `str`"),
        ({"messages": [{"role": "bot", "content": "a"}]}, "`messages[0]` does not fit: Invalid enum value 'bot'"),
        ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, "`messages[0]` does not fit: Invalid value"),
        ({"messages": [{"role": "user", "content": "a", "wire": {}}]}, "`messages[0]` does not fit: Object contains"),
    ],
)
def test_inputs_that_make_no_sense_are_an_error(inputs: dict[str, Any], words: str) -> None:
    with pytest.raises(AgentError) as raised:
        start(inputs)

    assert raised.value.code == "ERR_AGENT_INPUT"
    assert raised.value.message.startswith(words)
    assert "`prompt`" in (raised.value.hint or "")


def test_prompt_is_a_user_message_after_the_system_text() -> None:
    assert start({"prompt": "hi"}, "Be brief.") == [Message("system", "Be brief."), Message("user", "hi")]
    assert start({"prompt": "hi"}) == [Message("user", "hi")]


def test_system_text_of_the_call_goes_before_the_manifests() -> None:
    assert start({"prompt": "hi", "system": "Be long."}, "Be brief.")[0] == Message("system", "Be long.")
    assert start({"prompt": "hi", "system": ""}, "Be brief.") == [Message("user", "hi")]


def test_leading_system_message_is_replaced_and_others_stay() -> None:
    messages = [
        {"role": "system", "content": "old"},
        {"role": "user", "content": "a"},
        {"role": "system", "content": "b"},
    ]

    assert start({"messages": messages}, "new") == [
        Message("system", "new"),
        Message("user", "a"),
        Message("system", "b"),
    ]
    assert start({"messages": messages})[0] == Message("system", "old")


def test_messages_have_parts_calls_and_results() -> None:
    messages = [
        {"role": "user", "content": [{"text": "what is"}, {"type": "image", "data": "aGk=", "mediaType": "image/png"}]},
        {
            "role": "assistant",
            "toolCalls": [
                {"id": "a", "name": "look", "arguments": {"x": 1}},
                {"id": "b", "name": "look", "arguments": "{}"},
            ],
        },
        {"role": "tool", "toolCallId": "a", "name": "look", "content": "cat"},
        {"role": "tool", "toolCallId": "b", "name": "look", "content": "no", "isError": True},
    ]

    assert start({"messages": messages}) == [
        Message("user", [Text("what is"), Image("aGk=", "image/png")]),
        Message("assistant", "", [ToolCall("a", "look", '{"x":1}'), ToolCall("b", "look", "{}")]),
        Message("tool", "cat", tool_call_id="a", name="look"),
        Message("tool", "no", tool_call_id="b", name="look", is_error=True),
    ]


def test_half_a_surrogate_pair_is_replaced() -> None:
    parts = [{"text": "b\udc80"}]

    assert start({"prompt": "a\udc80", "system": "s\ud83d"}) == [
        Message("system", "s\ufffd"),
        Message("user", "a\ufffd"),
    ]
    assert start({"messages": [{"role": "user", "content": parts}]}) == [Message("user", [Text("b\ufffd")])]


def test_messages_of_an_earlier_run_are_taken_as_they_are() -> None:
    earlier = Message("assistant", "hi", wire={"openai": b"{}"})

    assert start({"messages": [earlier]})[0] is earlier
