"""What the tokens of a model's turn cost, where its manifest gives prices."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, structs

from runtime.ai.contracts import TurnEnd, Usage
from runtime.kind import Fields

A_MILLION = 1_000_000
DIGITS = 12
"""Of a cost, after the point: what is below is noise of floating-point numbers."""


class Prices(Fields):
    """Prices of a million tokens each, in whatever currency `limits.cost` is in."""

    prompt: Annotated[float, Meta(description="Of the request's tokens.", ge=0)]
    completion: Annotated[float, Meta(description="Of the answer's tokens, reasoning included.", ge=0)]
    cached_prompt: (
        Annotated[
            float,
            Meta(description="Of the request's tokens that came from the prompt cache; without it `prompt`.", ge=0),
        ]
        | UnsetType
    ) = UNSET
    cache_write: (
        Annotated[
            float,
            Meta(description="Of the request's tokens that were put into the prompt cache; without it `prompt`.", ge=0),
        ]
        | UnsetType
    ) = UNSET


PricesField = (
    Annotated[
        Prices,
        Meta(description="What a million tokens cost; the answer's usage then has a `cost`, which an agent can limit."),
    ]
    | UnsetType
)


def add_cost(end: TurnEnd, prices: Prices | UnsetType) -> TurnEnd:
    """The turn's end with the cost of its tokens; as it is without prices."""
    if isinstance(prices, UnsetType):
        return end
    return structs.replace(end, usage=structs.replace(end.usage, cost=_cost(end.usage, prices)))


def _cost(usage: Usage, prices: Prices) -> float:
    cached_price = prices.prompt if isinstance(prices.cached_prompt, UnsetType) else prices.cached_prompt
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    write_price = prices.prompt if isinstance(prices.cache_write, UnsetType) else prices.cache_write
    written = 0 if isinstance(usage.cache_write_tokens, UnsetType) else usage.cache_write_tokens
    written = min(written, usage.prompt_tokens - cached)
    plain = usage.prompt_tokens - cached - written
    cost = plain * prices.prompt + cached * cached_price + written * write_price
    return round((cost + usage.completion_tokens * prices.completion) / A_MILLION, DIGITS)
