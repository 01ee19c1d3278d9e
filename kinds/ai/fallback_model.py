"""`Ai.FallbackModel`: models in order, the next of which is asked when one fails."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, structs

from runtime.ai.contracts import Model, ModelRequest, TextDelta, Tool, ToolCall, TurnEnd
from runtime.ai.provider_rules import RULES
from runtime.errors import ModelError, ToolError
from runtime.kind import Context, Inspection, Kind, Slot, kind

if TYPE_CHECKING:
    from runtime.ai.formats import Converted

Failure = Literal["rate-limit", "server", "timeout", "connection", "response", "auth", "request"]

FAILURES: dict[str, Failure] = {
    "ERR_MODEL_RATE_LIMIT": "rate-limit",
    "ERR_MODEL_TIMEOUT": "timeout",
    "ERR_MODEL_CONNECTION": "connection",
    "ERR_MODEL_RESPONSE": "response",
    "ERR_MODEL_AUTH": "auth",
}


@kind("Ai.FallbackModel", implements=Model)
class FallbackModel(Kind):
    """Models in order: each turn asks the first, and the next one when it fails before a word of its answer came."""

    models: Annotated[
        list[Slot[Model, "A model, asked when all before it failed."]],
        Meta(description="The models, in the order in which they are asked.", min_length=2),
    ]
    on: Annotated[
        Sequence[Failure],
        Meta(
            description="The failures after which the next model is asked: `rate-limit` (or no credit left), `server`"
            " (5xx, overload), `timeout`, `connection`, `response` (an answer that was cut or makes no sense), `auth`"
            " (a key that is wrong or may not use the model), `request` (what the provider refuses otherwise). A model"
            " has failed when the request failed as often as its `maxRetries` allows.",
            min_length=1,
        ),
    ] = ("rate-limit", "server", "timeout", "connection", "response")

    @classmethod
    def find_tool_rules(cls, inspection: Inspection) -> tuple[str, int | None]:
        """As those of `Chain`: the first format that there is, and the least number of tools."""
        rules = [model.kind.find_tool_rules(model) for model in _asked_in_the_end(inspection)]
        return next((name for name, _ in rules if name), ""), least_tools(rules)

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Model]:
        yield Chain(context.name, self.models, frozenset(self.on), context.log)


def _asked_in_the_end(inspection: Inspection) -> Iterator[Inspection]:
    """The models of a chain that are no chains themselves, in order, each once: several chains may share one."""
    todo, seen = [inspection], set()
    while todo:
        model = todo.pop()
        if model in seen:
            continue
        seen.add(model)
        if model.kind is not inspection.kind:
            yield model
            continue
        below = [model.at(*path) for path, _ in model.find("models", "*")]
        todo += [each for each in reversed(below) if each is not None]


class Chain:
    """Has the tool format of its first model that has one.

    Names in that format are legal in every format, so the conversation reads the same to each model. Where another
    model's format differs, the tools are converted for it, and the arguments of its calls are spelled back.
    """

    def __init__(
        self, name: str, models: Sequence[Model], failures: frozenset[str], log: Callable[[str], None]
    ) -> None:
        self.name = name
        self.tool_format = next((model.tool_format for model in models if model.tool_format), "")
        self.max_tools: int | None = least_tools((model.tool_format, model.max_tools) for model in models)
        self._models = [Link(model, self.tool_format) for model in models]
        self._failures = failures
        self.common_options = _share_options(models)
        self._log = log
        names = [str(getattr(model, "name", "")) or f"models[{place}]" for place, model in enumerate(models)]
        self._names = names
        self.summary = ", then ".join(names)

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        """The turn of the first model that does not fail.

        Raises the `ModelError` of the last one that was asked; its hint tells of those before it.
        """
        failures: list[str] = []
        for place, link in enumerate(self._models):
            has_begun = False
            try:
                async with aclosing(link.generate(request)) as turn:
                    async for piece in turn:
                        has_begun = True
                        yield piece
                return
            except ModelError as error:
                if has_begun or place + 1 == len(self._models) or classify(error) not in self._failures:
                    error.hint = "; ".join([*([error.hint] if error.hint else []), *failures]) or None
                    raise
                failures.append(f'"{self._names[place]}" had failed before: {error.message}')
                self._log(f'"{self._names[place]}" failed: {error.message}; asking "{self._names[place + 1]}"')


class Link:
    """One model of a chain, asked in its own tool format; tools are converted again only when they changed."""

    def __init__(self, model: Model, tool_format: str) -> None:
        self._model = model
        self._is_at_home = model.tool_format == tool_format
        self._tools: Sequence[Tool] = ()
        self._converted: Converted | None = None

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        if self._is_at_home:
            async with aclosing(self._model.generate(request)) as turn:
                async for piece in turn:
                    yield piece
            return
        converted = self._convert(request.tools)
        block = b"" if converted is None else converted.encoded
        async with aclosing(self._model.generate(structs.replace(request, tool_block=block))) as turn:
            async for piece in turn:
                yield piece if converted is None or isinstance(piece, TextDelta) else _spell_back(piece, converted)

    def _convert(self, tools: Sequence[Tool]) -> "Converted | None":
        from runtime.ai.formats import convert

        if not tools or not self._model.tool_format:
            return None
        if self._converted is None or tools is not self._tools:
            self._converted = convert(tools, self._model.tool_format, max_tools=len(tools))  # `Chain` has the limit
            self._tools = tools
        return self._converted


def _spell_back(end: TurnEnd, converted: "Converted") -> TurnEnd:
    """The turn's end with arguments under the keys of the tools themselves, where the format has others."""
    renamed = {tool.name for tool in converted.tools if tool.renames}
    if renamed.isdisjoint(call.name for call in end.tool_calls):
        return end
    calls = [_spell_call_back(call, converted) if call.name in renamed else call for call in end.tool_calls]
    return structs.replace(end, tool_calls=calls)


def _spell_call_back(call: ToolCall, converted: "Converted") -> ToolCall:
    from runtime.ai.formats.arguments import decode
    from runtime.ai.formats.encoding import encode

    try:
        _, arguments = converted.restore(call.name, decode(call.arguments))
    except ToolError:  # no arguments: who runs the call says so
        return call
    return structs.replace(call, arguments=encode(arguments).decode())


def classify(error: ModelError) -> Failure:
    """What kind of failure an error is; where it tells no status it is the server's."""
    known = FAILURES.get(error.code)
    if known is not None:
        return known
    status = error.details.get("status", 500)
    if status == 402:
        return "rate-limit"
    return "server" if status >= 500 else "request"


def _share_options(models: Sequence[Model]) -> dict[str, str]:
    """The common options that each of the models takes; each spells them itself."""
    from runtime.ai.common_options import COMMON

    taken = [frozenset(getattr(model, "common_options", ())) for model in models]
    return {name: name for name in COMMON if all(name in options for options in taken)}


def least_tools(rules: Iterable[tuple[str, int | None]]) -> int:
    """The least that one of several models takes, each with its format and limit: the offer must fit all of them."""
    limits = []
    for tool_format, most in rules:
        limit = RULES[tool_format].most_tools if most is None and tool_format in RULES else most
        if limit:
            limits.append(limit)
    return min(limits, default=0)
