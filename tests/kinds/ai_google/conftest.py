"""A loopback server that speaks the Gemini API, and a model that points at it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import msgspec
import pytest
from servers.provider import KEY, Context, Provider, serve_provider

from kinds.ai_google.gemini_model import GeminiModel
from runtime.ai.contracts import Model


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serve_provider() as served:
        yield served


@pytest.fixture
def context() -> Context:
    return Context("Gemini")


@pytest.fixture
async def model(provider: Provider, context: Context) -> AsyncIterator[Callable[..., Awaitable[Model]]]:
    """Opens the model of a manifest that points at the provider."""
    async with AsyncExitStack() as stack:

        async def open_model(**fields: Any) -> Model:
            given = {"model": "gemini-3-test", "apiKey": KEY, "baseUrl": provider.url, **fields}
            return await stack.enter_async_context(msgspec.convert(given, GeminiModel).open(context))

        yield open_model
