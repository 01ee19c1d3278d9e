"""`AiOpenai.OpenaiModel`: a model behind the OpenAI API, or any server that speaks it."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Protocol

from msgspec import UNSET, Meta, UnsetType

from runtime.ai.contracts import Model, ModelRequest, TextDelta, TurnEnd
from runtime.ai.prices import PricesField, add_cost
from runtime.ai.provider_fields import ApiKey, Headers, MaxRetries, ModelName, Query, TimeoutMs
from runtime.kind import Context, Inspection, Kind, kind

if TYPE_CHECKING:
    from runtime.ai.endpoint import Endpoint
    from runtime.effects import Effect

OPENAI = "https://api.openai.com/v1"
CHAT_OPTIONS = {
    "temperature": "temperature",
    "topP": "topP",
    "maxTokens": "maxCompletionTokens",
    "stop": "stop",
}
RESPONSES_OPTIONS = {"temperature": "temperature", "topP": "topP", "maxTokens": "maxOutputTokens"}
PATHS = {"chat": "chat/completions", "responses": "responses"}


@kind("AiOpenai.OpenaiModel", implements=Model)
class OpenaiModel(Kind):
    """A model behind the OpenAI API, or any server that speaks it: Ollama, vLLM, Azure, OpenRouter."""

    tool_format: ClassVar[str] = "openai"

    model: ModelName
    api_key: ApiKey
    api: Annotated[
        Literal["chat", "responses"],
        Meta(
            description="`chat`: Chat Completions, which other servers speak too; `responses`: OpenAI's newer API,"
            " which carries a model's reasoning from turn to turn."
        ),
    ] = "chat"
    base_url: (
        Annotated[
            str,
            Meta(
                description="Where the API is, up to and without `/chat/completions` or `/responses`; without it what"
                " OPENAI_BASE_URL in the environment says, as with OpenAI's own clients, or else OpenAI's address.",
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
    headers: Headers = {}
    query: Query = {}
    timeout_ms: TimeoutMs = 600_000
    max_retries: MaxRetries = 2
    prices: PricesField = UNSET

    @classmethod
    def find_tool_rules(cls, inspection: Inspection) -> tuple[str, int | None]:
        """As those of `LiveModel`, by what the manifest says alone."""
        api = next((api for _, api in inspection.find("api")), "chat")
        url = next((url for _, url in inspection.find("baseUrl", expressions=True)), OPENAI)
        return "openai-responses" if api == "responses" else "openai", None if url == OPENAI else 0

    @classmethod
    def find_effects(cls, fields: Mapping[str, Any]) -> "Sequence[Effect]":
        """The API's address."""
        from runtime.effects import Connects

        address = _find_address(fields.get("baseUrl"), fields.get("api", "chat"))
        return [Connects(address, sorted({"authorization", *map(str.lower, fields.get("headers", ()))}))]

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Model]:
        from runtime.ai.provider import open_endpoint
        from runtime.ai.retries import Retries

        async with open_endpoint(
            context,
            _find_address(self.base_url or None, self.api),
            key=self.api_key,
            key_header="authorization",
            key_prefix="Bearer ",
            headers=self.headers,
            query=self.query,
            timeout_ms=self.timeout_ms,
            retries=Retries(self.max_retries),
        ) as endpoint:
            yield LiveModel(context.name, self, endpoint, _load_wire(self.api))


class Reply(Protocol):
    """An answer as it comes."""

    def read(self, text: bytes) -> str: ...

    def end(self) -> TurnEnd: ...


class Wire(NamedTuple):
    """How one API of the two spells a request and an answer."""

    format: str
    encode_request: Callable[[str, Mapping[str, Any], ModelRequest, bytes], bytes]
    reply: Callable[[str, Callable[[str], str]], Reply]


def _find_address(base_url: str | None, api: str) -> str:
    base_url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
    return f"{base_url.rstrip('/')}/{PATHS.get(api, api)}"


def _load_wire(api: str) -> Wire:
    if api == "chat":
        from kinds.ai_openai.wire import chat

        return Wire(chat.FORMAT, chat.encode_request, chat.Reply)
    from kinds.ai_openai.wire import responses

    return Wire(responses.FORMAT, responses.encode_request, responses.Reply)


class LiveModel:
    """Either API, always asked to stream; a server that answers in one piece is understood as well."""

    def __init__(self, name: str, fields: OpenaiModel, endpoint: "Endpoint", wire: Wire) -> None:
        self.name = name
        self.summary = fields.model
        self.tool_format = wire.format
        self._model = fields.model
        self._options = fields.options
        self.span_attributes = endpoint.describe("openai", fields.model)
        self._prices = fields.prices
        self._endpoint = endpoint
        self._wire = wire

    @property
    def common_options(self) -> Mapping[str, str]:
        """The Responses API knows no texts to stop at."""
        return RESPONSES_OPTIONS if self._wire.format == "openai-responses" else CHAT_OPTIONS

    def _name_common(self, request: ModelRequest) -> Mapping[str, str]:
        """`maxTokens` has two names in Chat Completions: what the manifest says, else the one that the server knows."""
        names = self.common_options
        if names is CHAT_OPTIONS and "maxCompletionTokens" not in {**self._options, **request.options}:
            is_old = "maxTokens" in {**self._options, **request.options} or self._endpoint.host != "api.openai.com"
            return {**names, "maxTokens": "maxTokens"} if is_old else names
        return names

    @property
    def max_tools(self) -> int | None:
        """Servers that speak the API have limits of their own, or none."""
        return None if self._endpoint.host == "api.openai.com" else 0

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        from runtime.ai.common_options import merge_options
        from runtime.ai.formats import convert

        block = request.tool_block
        if request.tools and not block:
            block = convert(request.tools, self.tool_format).encoded
        options = merge_options(self._options, request, self._name_common(request))
        body = self._wire.encode_request(self._model, options, request, block)
        reply = self._wire.reply(self.name, self._endpoint.mask)
        async with aclosing(self._endpoint.post(body)) as texts:
            async for text in texts:
                added = reply.read(text)
                if added:
                    yield TextDelta(added)
        yield add_cost(reply.end(), self._prices)
