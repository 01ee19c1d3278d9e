"""`prices` on every kind of model provider: the usage of a turn has its cost."""

from typing import Any

import msgspec
import pytest
from servers.provider import KEY, Context, ask, serve_provider

from kinds.ai_anthropic.anthropic_model import AnthropicModel
from kinds.ai_google.gemini_model import GeminiModel
from kinds.ai_openai.openai_model import OpenaiModel
from runtime.ai.contracts import TurnEnd, Usage
from runtime.ai.prices import Prices, add_cost

pytestmark = pytest.mark.anyio

CHAT = {
    "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "total_tokens": 1100,
        "prompt_tokens_details": {"cached_tokens": 600},
    },
}
RESPONSE = {
    "object": "response",
    "status": "completed",
    "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}],
    "usage": {
        "input_tokens": 1000,
        "output_tokens": 100,
        "total_tokens": 1100,
        "input_tokens_details": {"cached_tokens": 600},
    },
}
MESSAGE = {
    "type": "message",
    "content": [{"type": "text", "text": "hi"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 400, "cache_read_input_tokens": 600, "output_tokens": 100},
}
CONTENT = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP"}],
    "usageMetadata": {
        "promptTokenCount": 1000,
        "candidatesTokenCount": 100,
        "totalTokenCount": 1100,
        "cachedContentTokenCount": 600,
    },
}


@pytest.mark.parametrize(
    ("kind", "more", "answer"),
    [
        (OpenaiModel, {}, CHAT),
        (OpenaiModel, {"api": "responses"}, RESPONSE),
        (AnthropicModel, {}, MESSAGE),
        (GeminiModel, {}, CONTENT),
    ],
)
async def test_usage_has_its_cost_where_prices_are_given(kind: Any, more: Any, answer: Any) -> None:
    async with serve_provider() as provider:
        fields = {"model": "m", "apiKey": KEY, "baseUrl": provider.url, **more}
        ends = []
        for prices in ({"prices": {"prompt": 2.5, "cachedPrompt": 0.25, "completion": 10}}, {}):
            provider.answers_whole(answer)
            async with msgspec.convert({**fields, **prices}, kind).open(Context("Model")) as model:
                ends.append((await ask(model))[1])

    priced, plain = ends
    assert priced.usage == Usage(1000, 100, 1100, 600, cost=0.00215)
    assert plain.usage == Usage(1000, 100, 1100, 600)


def test_tokens_that_are_put_into_the_cache_have_a_price_of_their_own() -> None:
    end = TurnEnd((), "stop", Usage(1000, 100, 1100, 600, cache_write_tokens=300))
    prices = Prices(prompt=2.5, completion=10, cached_prompt=0.25, cache_write=5)

    assert add_cost(end, prices).usage.cost == (100 * 2.5 + 600 * 0.25 + 300 * 5 + 100 * 10) / 1_000_000
    assert add_cost(end, Prices(prompt=2.5, completion=10)).usage.cost == 0.0035


def test_tokens_that_are_put_into_the_cache_are_summed_where_any_are_told() -> None:
    assert Usage() + Usage() == Usage()
    assert Usage() + Usage(cache_write_tokens=2) + Usage(cache_write_tokens=3) == Usage(cache_write_tokens=5)


def test_cached_tokens_cost_as_much_as_others_where_no_price_is_theirs() -> None:
    end = TurnEnd((), "stop", Usage(1000, 100, 1100, 600))

    assert add_cost(end, Prices(prompt=2.5, completion=10)).usage.cost == 0.0035


def test_cost_of_a_run_is_that_of_the_turns_whose_model_has_prices() -> None:
    assert Usage(1, 1, 2) + Usage(1, 1, 2) == Usage(2, 2, 4)
    assert Usage() + Usage(cost=0.1) + Usage(cost=0.2) + Usage(1) == Usage(1, cost=0.3)


@pytest.mark.parametrize(
    "prices", [{}, {"prompt": 1}, {"prompt": -1, "completion": 1}, {"prompt": "1", "completion": 1}]
)
def test_prices_are_two_numbers_at_least(prices: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(prices, Prices)
