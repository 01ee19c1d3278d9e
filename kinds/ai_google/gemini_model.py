"""`AiGoogle.GeminiModel`: a model behind the Gemini API, or any server that speaks it."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import UNSET, Meta, UnsetType

from runtime.ai.contracts import Model, ModelRequest, TextDelta, TurnEnd
from runtime.ai.prices import PricesField, add_cost
from runtime.ai.provider_fields import ApiKey, Headers, MaxRetries, ModelName, Query, TimeoutMs
from runtime.errors import ModelError
from runtime.kind import Context, Kind, kind

if TYPE_CHECKING:
    from runtime.ai.endpoint import Endpoint
    from runtime.effects import Effect

GOOGLE = "https://generativelanguage.googleapis.com"
VERSION = "v1"
WRONG_KEY = "API key not valid"
"""How the API tells, with status 400, that it does not know the key."""


@kind("AiGoogle.GeminiModel", implements=Model)
class GeminiModel(Kind):
    """A model behind the Gemini API, or any server that speaks it."""

    tool_format: ClassVar[str] = "gemini"

    model: ModelName
    api_key: ApiKey
    base_url: (
        Annotated[
            str,
            Meta(
                description="Where the API is, up to and without its version; without it what GOOGLE_GEMINI_BASE_URL in"
                " the environment says, as with Google's own clients, or else Google's address.",
                pattern="^https?://",
            ),
        ]
        | UnsetType
    ) = UNSET
    api_version: Annotated[
        str, Meta(description="The version of the API: `v1`, or `v1beta` for what is not in it.", pattern=r"^v\w+$")
    ] = VERSION
    options: Annotated[
        Mapping[str, Any],
        Meta(
            description="Fields of `generationConfig`, such as `temperature`, `maxOutputTokens` or `thinkingConfig`,"
            " and those beside it, such as `safetySettings`; those of an agent and of a call go before them, and null"
            " takes one away."
        ),
    ] = {}
    headers: Headers = {}
    query: Query = {}
    timeout_ms: TimeoutMs = 600_000
    max_retries: MaxRetries = 2
    prices: PricesField = UNSET

    @classmethod
    def find_effects(cls, fields: Mapping[str, Any]) -> "Sequence[Effect]":
        """The API's address."""
        from runtime.effects import Connects

        address = _find_address(fields.get("baseUrl"), fields.get("apiVersion", VERSION), str(fields["model"]))
        return [Connects(address, sorted({"x-goog-api-key", *map(str.lower, fields.get("headers", ()))}))]

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Model]:
        from runtime.ai.provider import open_endpoint
        from runtime.ai.retries import Retries

        async with open_endpoint(
            context,
            _find_address(self.base_url or None, self.api_version, self.model),
            key=self.api_key,
            key_header="x-goog-api-key",
            headers=self.headers,
            query=self.query,
            timeout_ms=self.timeout_ms,
            retries=Retries(self.max_retries, first=1.0, longest=60.0),
        ) as endpoint:
            yield ContentModel(context.name, self, endpoint)


def _find_address(base_url: str | None, version: str, model: str) -> str:
    from urllib.parse import quote

    base_url = (base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL") or GOOGLE).rstrip("/")
    name = model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"
    return f"{base_url}/{version}/{quote(name, safe='/:@')}:streamGenerateContent?alt=sse"


class ContentModel:
    """generateContent, always asked to stream; a server that answers in one piece is understood as well."""

    tool_format = GeminiModel.tool_format
    max_tools: int | None = None
    common_options: ClassVar[Mapping[str, str]] = {
        "temperature": "temperature",
        "topP": "topP",
        "maxTokens": "maxOutputTokens",
        "stop": "stopSequences",
    }

    def __init__(self, name: str, fields: GeminiModel, endpoint: "Endpoint") -> None:
        from kinds.ai_google.wire.request import Dialect

        self.name = name
        self.summary = fields.model
        self._dialect = Dialect(fields.model)
        self._options = fields.options
        self.span_attributes = {
            **endpoint.describe("gcp.gemini", fields.model),
            "gen_ai.operation.name": "generate_content",
        }
        self._prices = fields.prices
        self._endpoint = endpoint

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        from kinds.ai_google.wire.reply import Reply
        from kinds.ai_google.wire.request import encode_request
        from runtime.ai.common_options import merge_options
        from runtime.ai.formats import convert

        block = request.tool_block
        if request.tools and not block:
            block = convert(request.tools, self.tool_format).encoded
        options = merge_options(self._options, request, self.common_options)
        body = encode_request(self._dialect, options, request, block)
        reply = Reply(self.name, self._endpoint.mask)
        try:
            async with aclosing(self._endpoint.post(body)) as texts:
                async for text in texts:
                    added = reply.read(text)
                    if added:
                        yield TextDelta(added)
        except ModelError as error:
            if WRONG_KEY in error.message:
                error.code, error.hint = "ERR_MODEL_AUTH", "check `apiKey`"
            raise
        yield add_cost(reply.end(), self._prices)
