"""Options in common words: what each provider is sent, over real HTTP on loopback."""

from typing import Any

import msgspec
import pytest
from servers.provider import KEY, Context, Provider, ask, serve_provider

from kinds.ai.fallback_model import FallbackModel
from kinds.ai.scripted_model import ScriptedModel
from kinds.ai_anthropic.anthropic_model import AnthropicModel
from kinds.ai_google.gemini_model import GeminiModel
from kinds.ai_openai.openai_model import OpenaiModel
from runtime.ai.common_options import COMMON, check_common
from runtime.errors import AgentError
from runtime.kind import Kind

pytestmark = pytest.mark.anyio

ALL = {"temperature": 0.5, "topP": 0.9, "maxTokens": 50, "stop": ["END"]}
CHAT = {"choices": [{"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}]}
RESPONSE = {"type": "response.completed", "response": {"object": "response", "status": "completed", "output": []}}
CLAUDE = {"type": "message", "content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn"}
GEMINI = {"candidates": [{"content": {"parts": [{"text": "hello"}]}, "finishReason": "STOP"}]}


def make(cls: type[Kind], provider: Provider, **fields: Any) -> Kind:
    return msgspec.convert({"model": "m", "apiKey": KEY, "baseUrl": provider.url, **fields}, cls)


async def sent(kind: Kind, provider: Provider, reply: Any, **request: Any) -> dict[str, Any]:
    """The fields of the request that a model sends."""
    if reply is CLAUDE:
        provider.answers_whole(reply)
    else:
        provider.streams(reply)
    async with kind.open(Context("Any")) as model:
        await ask(model, common={name: ALL[name] for name in model.common_options}, **request)
    body = provider.requests[-1].body
    return {name: value for name, value in body.items() if name not in ("model", "messages", "input", "contents")}


@pytest.mark.parametrize(
    ("cls", "reply", "fields", "expected"),
    [
        (
            OpenaiModel,
            CHAT,
            {},
            {"max_tokens": 50, "stop": ["END"], "stream": True, "stream_options": {"include_usage": True}},
        ),
        (OpenaiModel, RESPONSE, {"api": "responses"}, {"max_output_tokens": 50, "store": False, "stream": True}),
        (AnthropicModel, CLAUDE, {}, {"max_tokens": 50, "stop_sequences": ["END"], "stream": True}),
    ],
)
async def test_each_provider_is_sent_them_under_its_own_names(cls, reply, fields, expected):
    async with serve_provider() as provider:
        assert await sent(make(cls, provider, **fields), provider, reply) == {
            "temperature": 0.5,
            "top_p": 0.9,
            **expected,
        }


async def test_gemini_is_sent_them_in_its_configuration():
    expected = {"temperature": 0.5, "topP": 0.9, "maxOutputTokens": 50, "stopSequences": ["END"]}
    async with serve_provider() as provider:
        assert await sent(make(GeminiModel, provider), provider, GEMINI) == {"generationConfig": expected}


async def test_of_two_limits_of_tokens_the_lower_one_holds_under_the_name_that_the_manifest_has():
    async with serve_provider() as provider:
        kind = make(OpenaiModel, provider, options={"maxCompletionTokens": 60, "temperature": 1})
        body = await sent(kind, provider, CHAT)
        lower = await sent(kind, provider, CHAT, options={"maxCompletionTokens": 40})

    assert (body["max_completion_tokens"], body["temperature"], "max_tokens" in body) == (50, 0.5, False)
    assert lower["max_completion_tokens"] == 40


async def test_a_chain_takes_what_each_of_its_models_takes_and_spells_it_for_each():
    async with serve_provider() as provider:
        models = [make(OpenaiModel, provider, api="responses", maxRetries=0), make(AnthropicModel, provider)]
        provider.refuses(500, {"error": {"message": "no"}})
        provider.answers_whole(CLAUDE)
        async with (
            models[0].open(Context("One")) as one,
            models[1].open(Context("Two")) as two,
            FallbackModel(models=[one, two]).open(Context("Chain")) as chain,
        ):
            await ask(chain, common={"maxTokens": 50})
            assert set(chain.common_options) == {"temperature", "topP", "maxTokens"}

    first, second = (request.body for request in provider.requests)
    assert (first["max_output_tokens"], second["max_tokens"]) == (50, 50)


async def test_what_a_model_does_not_take_is_refused():
    async with ScriptedModel().open(Context("Script")) as script:
        check_common(dict.fromkeys(COMMON, 1), script, "Porter")
    with pytest.raises(AgentError) as raised:
        check_common({"stop": ["x"]}, object(), "Porter")  # type: ignore[arg-type]

    assert (raised.value.code, str(raised.value)) == (
        "ERR_AGENT_OPTION",
        'Porter: the model of the agent "Porter" takes no `stop`',
    )
