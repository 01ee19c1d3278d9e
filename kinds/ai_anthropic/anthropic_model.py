"""`AiAnthropic.AnthropicModel`: a model behind the Anthropic API, or any server that speaks it."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from runtime.ai.contracts import Model, ModelRequest, TextDelta, TurnEnd
from runtime.ai.prices import PricesField, add_cost
from runtime.ai.provider_fields import ApiKey, Headers, MaxRetries, ModelName, Query, TimeoutMs
from runtime.kind import Context, Fields, Inspection, Kind, kind

if TYPE_CHECKING:
    from runtime.ai.endpoint import Endpoint
    from runtime.effects import Effect

ANTHROPIC = "https://api.anthropic.com"
VERSION = "2026-10-21"
SAMPLING = ("temperature", "topP", "topK")
"""Options that the API refuses since `VERSION`, at any value."""

MOST_PAUSES = 20
"""Times that one turn goes on after the API paused it."""


class CacheControl(Fields):
    """How the API keeps the start of a prompt, to read it again for less."""

    type: Annotated[Literal["ephemeral"], Meta(description="The kind of cache; there is one.")] = "ephemeral"
    ttl: (
        Annotated[Literal["5m", "1h"], Meta(description="How long it is kept after each use; by default 5 minutes.")]
        | UnsetType
    ) = UNSET


@kind("AiAnthropic.AnthropicModel", implements=Model)
class AnthropicModel(Kind):
    """A model behind the Anthropic API, or any server that speaks it."""

    tool_format: ClassVar[str] = "anthropic"

    model: ModelName
    api_key: ApiKey
    base_url: (
        Annotated[
            str,
            Meta(
                description="Where the API is, up to and without `/v1/messages`; without it what ANTHROPIC_BASE_URL in"
                " the environment says, as with Anthropic's own clients, or else Anthropic's address.",
                pattern="^https?://",
            ),
        ]
        | UnsetType
    ) = UNSET
    api_version: Annotated[
        str,
        Meta(
            description="The version of the API. Since 2026-10-21 it takes no `temperature`, `topP` or `topK`;"
            " 2023-06-01 does, for models that know them.",
            pattern=r"^\d{4}-\d{2}-\d{2}$",
        ),
    ] = VERSION
    options: Annotated[
        Mapping[str, Any],
        Meta(
            description="Fields of each request in camelCase, such as `maxTokens` (8192 unless said) or `thinking`;"
            " those of an agent and of a call go before them, and null takes one away."
        ),
    ] = {}
    cache_control: (
        Annotated[
            CacheControl,
            Meta(
                description="Keeps tools, system text and conversation in the prompt cache; without it nothing is kept."
            ),
        ]
        | UnsetType
    ) = UNSET
    headers: Headers = {}
    query: Query = {}
    timeout_ms: TimeoutMs = 600_000
    max_retries: MaxRetries = 2
    prices: PricesField = UNSET

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: an option that the API's version refuses, where it is Anthropic's own API that is asked."""
        if any(inspection.find("baseUrl")):
            return
        version = next((value for _, value in inspection.find("apiVersion")), VERSION)
        for option in SAMPLING:
            for path, value in inspection.find("options", option):
                if value is not None and isinstance(version, str) and version >= VERSION:
                    inspection.report(
                        "SCHEMA_VALUE",
                        path,
                        f'version {version} of the API takes no "{option}"',
                        'leave it out, or set `apiVersion: "2023-06-01"` for a model that knows it',
                    )

    @classmethod
    def find_effects(cls, fields: Mapping[str, Any]) -> "Sequence[Effect]":
        """The API's address."""
        from runtime.effects import Connects

        headers = {"x-api-key", "anthropic-version", *map(str.lower, fields.get("headers", ()))}
        return [Connects(_find_address(fields.get("baseUrl")), sorted(headers))]

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Model]:
        from runtime.ai.provider import open_endpoint
        from runtime.ai.retries import Retries

        async with open_endpoint(
            context,
            _find_address(self.base_url or None),
            key=self.api_key,
            key_header="x-api-key",
            headers={"anthropic-version": self.api_version, **{k.lower(): v for k, v in self.headers.items()}},
            query=self.query,
            timeout_ms=self.timeout_ms,
            retries=Retries(self.max_retries),
        ) as endpoint:
            yield MessagesModel(context.name, self, endpoint)


class MessagesModel:
    """The Messages API, always asked to stream; a server that answers in one piece is understood as well."""

    tool_format = AnthropicModel.tool_format
    max_tools: int | None = None
    common_options: ClassVar[Mapping[str, str]] = {
        "temperature": "temperature",
        "topP": "topP",
        "maxTokens": "maxTokens",
        "stop": "stopSequences",
    }

    def __init__(self, name: str, fields: AnthropicModel, endpoint: "Endpoint") -> None:
        self.name = name
        self.summary = fields.model
        self._model = fields.model
        self._options = fields.options
        self.span_attributes = endpoint.describe("anthropic", fields.model)
        self._prices = fields.prices
        self._cache = _read_cache(fields.cache_control)
        self._endpoint = endpoint

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        from kinds.ai_anthropic.wire.reply import Reply
        from kinds.ai_anthropic.wire.request import encode_request
        from runtime.ai.common_options import merge_options
        from runtime.ai.formats import convert

        block = request.tool_block
        if request.tools and not block:
            block = convert(request.tools, self.tool_format).encoded
        options = merge_options(self._options, request, self.common_options)
        reply = Reply(self.name, self._endpoint.mask)
        for pauses in range(MOST_PAUSES + 1):
            body = encode_request(self._model, options, request, block, self._cache, reply.blocks)
            async with aclosing(self._endpoint.post(body)) as texts:
                async for text in texts:
                    added = reply.read(text)
                    if added:
                        yield TextDelta(added)
            if pauses == MOST_PAUSES or not reply.resume():
                break
        yield add_cost(reply.end(), self._prices)


def _find_address(base_url: str | None) -> str:
    base_url = base_url or os.environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC
    return f"{base_url.rstrip('/')}/v1/messages"


def _read_cache(cache: CacheControl | UnsetType) -> dict[str, str] | None:
    if isinstance(cache, UnsetType):
        return None
    return {"type": cache.type} if isinstance(cache.ttl, UnsetType) else {"type": cache.type, "ttl": cache.ttl}
