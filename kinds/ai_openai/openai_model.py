"""`AiOpenai.OpenaiModel`: a model behind the OpenAI API, or any server that speaks it."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import UNSET, Meta, UnsetType

from runtime.ai.contracts import Model, ModelRequest, TextDelta, TurnEnd
from runtime.errors import ModelError
from runtime.kind import Context, Kind, kind

if TYPE_CHECKING:
    from runtime.ai.endpoint import Endpoint

OPENAI = "https://api.openai.com/v1"


@kind("AiOpenai.OpenaiModel", implements=Model)
class OpenaiModel(Kind):
    """A model behind the OpenAI API, or any server that speaks it: Ollama, vLLM, Azure, OpenRouter."""

    tool_format: ClassVar[str] = "openai"

    model: Annotated[str, Meta(description="The model's name, as the provider knows it.", min_length=1)]
    api_key: Annotated[str, Meta(description="The key, from a secret; any text for a server that asks for none.")]
    base_url: (
        Annotated[
            str,
            Meta(
                description="Where the API is, up to and without `/chat/completions`; without it what OPENAI_BASE_URL"
                " in the environment says, as with OpenAI's own clients, or else OpenAI's address.",
                pattern="^https?://",
            ),
        ]
        | UnsetType
    ) = UNSET
    options: Annotated[
        Mapping[str, Any],
        Meta(
            description="Fields of each request in camelCase, such as `temperature` or `maxCompletionTokens`; those of"
            " an agent and of a call go before them, and null takes one away."
        ),
    ] = {}
    headers: Annotated[
        Mapping[str, str], Meta(description="Headers of each request; they go before those that the runtime sets.")
    ] = {}
    timeout_ms: Annotated[
        int, Meta(description="Most milliseconds to wait for the answer, and between any two pieces of it.", ge=1)
    ] = 600_000
    max_retries: Annotated[
        int,
        Meta(description="How often to repeat a request that failed for now: 408, 409, 429, 5xx, no connection.", ge=0),
    ] = 2

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Model]:
        from runtime.ai.endpoint import Endpoint, Retries

        key = self.api_key.strip()

        def mask(text: str) -> str:
            return context.mask(text.replace(key, "***") if len(key) > 3 else text)

        for field, value in (("apiKey", key), *((f"headers.{name}", value) for name, value in self.headers.items())):
            if not value.isascii() or not value.isprintable():
                raise ModelError(
                    f"`{field}` has characters that no header can carry",
                    code="ERR_MODEL_AUTH",
                    resource=context.name,
                    hint="look for quotes, spaces or line ends that came along when it was copied",
                )
        base_url = self.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        endpoint = Endpoint(
            context.name,
            f"{base_url.rstrip('/')}/chat/completions",
            ({"authorization": f"Bearer {key}"} if key else {}) | {k.lower(): v for k, v in self.headers.items()},
            timeout=self.timeout_ms / 1000,
            retries=Retries(self.max_retries),
            mask=mask,
            log=context.log,
        )
        endpoint.connect()
        try:
            yield ChatModel(context.name, self.model, self.options, endpoint)
        finally:
            await endpoint.aclose()


class ChatModel:
    """Chat Completions, always asked to stream; a server that answers in one piece is understood as well."""

    tool_format = OpenaiModel.tool_format

    def __init__(self, name: str, model: str, options: Mapping[str, Any], endpoint: "Endpoint") -> None:
        self.name = name
        self.summary = model
        self._model = model
        self._options = options
        self._endpoint = endpoint

    @property
    def max_tools(self) -> int | None:
        """Servers that speak the API have limits of their own, or none."""
        return None if self._endpoint.host == "api.openai.com" else 0

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        from kinds.ai_openai.wire.chat import Reply, encode_request
        from runtime.ai.formats import convert

        block = request.tool_block
        if request.tools and not block:
            block = convert(request.tools, self.tool_format).encoded
        body = encode_request(self._model, {**self._options, **request.options}, request, block)
        reply = Reply(self.name, self._endpoint.mask)
        async with aclosing(self._endpoint.post(body)) as texts:
            async for text in texts:
                added = reply.read(text)
                if added:
                    yield TextDelta(added)
        yield reply.end()
