"""The words that agents, models and tool providers share; nothing here knows MCP or a model provider."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import UNSET, Struct, UnsetType, field

from runtime.contracts import contract


class Text(Struct, frozen=True, tag="text"):
    """A part that is text."""

    text: str


class Image(Struct, frozen=True, tag="image", rename="camel"):
    """A part that is an image: base64 data and its media type, such as `image/png`."""

    data: str
    media_type: str


Part = Text | Image


class Tool(Struct, frozen=True):
    """A tool as a provider lists it: bare name, description, JSON Schema of the arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    annotations: Mapping[str, Any] = {}


class ToolResult(Struct, frozen=True):
    """What a tool gave back.

    `output` is what the model reads: a string, a list of parts, or any JSON value. `rest` is what else came and goes
    into the trace alone (JSON values), so that nothing vanishes. With `ends_run` the first of `rest` is the answer of
    another agent, which is that of the run as well: the model is not asked again.
    """

    output: Any
    rest: Sequence[Any] = ()
    ends_run: bool = False


@contract("Ai.ToolProvider")
class ToolProvider(Protocol):
    """Offers tools to agents.

    It may also have `is_available`, False while what it speaks for is not there and its list is empty for that reason,
    `instructions`, a text on the use of its tools that joins the system text of each agent that has them, and
    `is_resumable`, False where its tools keep a state that ends with this process.
    """

    async def list_tools(self) -> Sequence[Tool]:
        """The tools there are now, each name once. Cheap to ask again: an unchanged list is the same object."""

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool by its bare name: a `ToolResult`, or what would be its `output`.

        Raises `ToolError` or another `runtime.errors.Error` when the tool fails; the agent's `onToolError` decides.
        """


class ToolCall(Struct, frozen=True):
    """A model's wish to call a tool. `arguments` is the JSON text that the model wrote, which may be broken."""

    id: str
    name: str
    arguments: str


class Message(Struct, rename="camel", omit_defaults=True):
    """One message of a run.

    `content` is text or parts. An assistant's message may carry `tool_calls`; a message of the role `tool` answers the
    call `tool_call_id` of the tool `name`. `provider_data` is the model provider's own (reasoning, signatures): it goes
    back to that provider untouched. `wire` keeps the message's encoded form, so that it is encoded once in its life.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[Part] = ""
    tool_calls: list[ToolCall] = []
    tool_call_id: str = ""
    name: str = ""
    is_error: bool = False
    provider_data: Any = None
    wire: dict[str, bytes] = field(default_factory=dict)


class Usage(Struct, frozen=True, rename="camel"):
    """Tokens of a request, or of a run: prompt (cached ones included), completion (reasoning included).

    `cost` is what they cost, in the currency of the prices that models were given; of turns without prices nothing is
    in it, and without any it is not there. `cache_write_tokens` are those of the prompt that were put into the cache,
    and not there either where no provider told of any.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | UnsetType = UNSET
    cache_write_tokens: int | UnsetType = UNSET

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.total_tokens + other.total_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            _add_costs(self.cost, other.cost),
            _add_counts(self.cache_write_tokens, other.cache_write_tokens),
        )


def _add_counts(one: int | UnsetType, other: int | UnsetType) -> int | UnsetType:
    if isinstance(one, UnsetType):
        return other
    return one if isinstance(other, UnsetType) else one + other


def _add_costs(one: float | UnsetType, other: float | UnsetType) -> float | UnsetType:
    if isinstance(one, UnsetType):
        return other
    return one if isinstance(other, UnsetType) else round(one + other, 12)  # digits below are noise


FinishReason = Literal["stop", "length", "content-filter", "tool-calls", "error", "other"]


class TextDelta(Struct, frozen=True, tag_field="type", tag="text-delta"):
    """The next piece of the model's text."""

    text: str


class TurnEnd(Struct, frozen=True):
    """The end of a model's turn: its tool calls in order, why it ended, what it cost.

    `images` are those that the model made; `rest` is what else it made that is no text, as the provider gave it: it
    goes into the trace alone.
    """

    tool_calls: Sequence[ToolCall]
    finish_reason: FinishReason
    usage: Usage
    provider_data: Any = None
    images: Sequence[Image] = ()
    rest: Sequence[Any] = ()


class ModelRequest(Struct):
    """One turn asked of a model.

    `tools` are named as the model shall see them, and the same list object in every turn in which nothing changed, so
    that a model may keep its encoded form; `tool_block` is that list in the model's `tool_format`, encoded, where the
    caller has it. `options` are in camelCase, agent < call, and go before the model's own; before them go those of
    `common`, which have the names of `runtime.ai.common_options` and are among the model's `common_options`.
    `tool_choice` is `auto`, `none`, `required`, or the name of the one tool to call.
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    options: Mapping[str, Any] = {}
    tool_choice: str = "auto"
    tool_block: bytes = b""
    common: Mapping[str, Any] = {}


@contract("Ai.Model")
class Model(Protocol):
    """A model that answers messages, and may ask for tool calls.

    It may also have `span_attributes`, what OpenTelemetry's spans tell of it: `gen_ai.provider.name` and so on; and
    `common_options`, what it calls those of the options of `runtime.ai.common_options` that it can be given.
    """

    @property
    def tool_format(self) -> str:
        """The format its tools take: a name in `runtime.ai.formats`, such as `openai`; empty takes them as they are."""

    @property
    def max_tools(self) -> int | None:
        """The most tools that a request takes; None leaves it to the format, and 0 is no limit."""

    def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        """Text as it comes, then exactly one `TurnEnd`. Raises `ModelError`. Closing the iterator ends the request."""
