"""The words of a manifest that every kind of model provider knows: typed once, listed by each kind."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

ModelName = Annotated[str, Meta(description="The model's name, as the provider knows it.", min_length=1)]
ApiKey = Annotated[str, Meta(description="The key, from a secret; any text for a server that asks for none.")]
Headers = Annotated[
    Mapping[str, str], Meta(description="Headers of each request; they go before those that the runtime sets.")
]
Query = Annotated[Mapping[str, str], Meta(description="Query parameters of each request.")]
TimeoutMs = Annotated[
    int, Meta(description="Most milliseconds to wait for the answer, and between any two pieces of it.", ge=1)
]
MaxRetries = Annotated[
    int,
    Meta(description="How often to repeat a request that failed for now: 408, 409, 429, 5xx, no connection.", ge=0),
]
