"""Sampling: what a server gets when it asks for an answer of our model."""

from typing import ClassVar

import pytest

from kinds.ai_mcp.sampling import offer_sampling
from runtime.ai import Image, Message, Text
from runtime.ai.contracts import TextDelta, TurnEnd, Usage
from runtime.errors import ModelError
from runtime.mcp.connection import Refusal

pytestmark = pytest.mark.anyio


class Model:
    """Answers in two pieces and keeps what it was asked."""

    tool_format = ""
    common_options: ClassVar = {"maxTokens": "max_tokens", "temperature": "temperature"}

    def __init__(self, finish_reason: str = "stop") -> None:
        self.finish_reason = finish_reason

    async def generate(self, request):
        self.request = request
        yield TextDelta("for")
        yield TextDelta("ty-two")
        yield TurnEnd((), self.finish_reason, Usage())


def ask(*messages, **more):
    return {"messages": list(messages), "maxTokens": 100, **more}


HELLO = {"role": "user", "content": {"type": "text", "text": "hello"}}


async def test_the_model_is_asked_in_our_words():
    model = Model()
    image = {"type": "image", "data": "iVBO", "mimeType": "image/png"}
    params = ask(HELLO, {"role": "assistant", "content": [image]}, systemPrompt="be brief", temperature=0.5)
    params["stopSequences"] = ["END"]  # which this model cannot be given
    answer = await offer_sampling(model, "Client").handler(params)

    assert answer == {
        "role": "assistant",
        "content": {"type": "text", "text": "forty-two"},
        "model": "Client",
        "stopReason": "endTurn",
    }
    assert model.request.messages == [
        Message("system", "be brief"),
        Message("user", [Text("hello")]),
        Message("assistant", [Image("iVBO", "image/png")]),
    ]
    assert model.request.common == {"maxTokens": 100, "temperature": 0.5}
    assert model.request.options == {}


async def test_a_limit_that_was_reached_is_told():
    answer = await offer_sampling(Model("length"), "Client").handler(ask(HELLO))

    assert answer["stopReason"] == "maxTokens"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"messages": "hello"},
        {"messages": [HELLO] * 201},
        ask({"role": "system", "content": {"type": "text", "text": "x"}}),
        ask({"role": "user", "content": {"type": "audio", "data": "x"}}),
        ask(None),
        ask(HELLO, maxTokens="100"),
        ask(HELLO, maxTokens=True),
        ask(HELLO, temperature="hot"),
        ask(HELLO, stopSequences="END"),
    ],
)
async def test_what_a_model_cannot_be_given_is_refused(params):
    with pytest.raises(Refusal) as caught:
        await offer_sampling(Model(), "Client").handler(params)

    assert caught.value.code == -32602


async def test_a_model_that_fails_is_told_without_its_words():
    class Failing(Model):
        async def generate(self, request):
            raise ModelError("the key sk-123 is invalid", code="ERR_MODEL_AUTH")
            yield

    with pytest.raises(Refusal) as caught:
        await offer_sampling(Failing(), "Client").handler(ask(HELLO))

    assert caught.value.message == "the model failed (ERR_MODEL_AUTH)"
