"""`Ai.Agent`: a model that works with tools until it has an answer."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from msgspec import UNSET, Meta, UnsetType

from runtime.ai.contracts import Model, ToolProvider
from runtime.ai.durable_field import DurableField, DurableRuns, inspect_durable
from runtime.ai.output_fields import OutputField, make_output_rule, report_output_faults
from runtime.ai.provider_rules import find_prefix_fault
from runtime.contracts import Invocable
from runtime.kind import FIXED, Context, Fields, Inspection, Kind, Slot, kind

if TYPE_CHECKING:
    from runtime.ai.run import RunRules
    from runtime.known_tools import ToolOffer, ToolUse

T = TypeVar("T")


class ToolProviderEntry(Fields):
    """A tool provider as one agent uses it."""

    provider: Slot[ToolProvider, "What lists and runs the tools."]
    prefix: Annotated[
        str,
        Meta(description="Put before each tool's name, as it stands: `fs_` makes `fs_read`.", extra_json_schema=FIXED),
    ] = ""
    include: (
        Annotated[
            list[str],
            Meta(
                description="The tools to offer, all others left out: bare names, without the prefix, or globs.",
                min_length=1,
                extra_json_schema=FIXED,
            ),
        ]
        | UnsetType
    ) = UNSET
    exclude: Annotated[
        Sequence[str],
        Meta(description="Tools to leave out of those included: bare names or globs.", extra_json_schema=FIXED),
    ] = ()


class NamedTool(Fields):
    """The one tool that the model has to call."""

    name: Annotated[str, Meta(description="The tool's name, with its prefix.", min_length=1)]


class RunLimits(Fields):
    """The most that one run may use; going past one fails the run with ERR_AGENT_LIMIT."""

    tokens: (
        Annotated[int, Meta(description="Tokens of all turns, after which the model is not asked again.", ge=1)]
        | UnsetType
    ) = UNSET
    tool_calls: (
        Annotated[
            int, Meta(description="Tool calls of all turns; a turn that wants more runs none of its calls.", ge=0)
        ]
        | UnsetType
    ) = UNSET
    seconds: Annotated[float, Meta(description="Seconds from start to answer.", gt=0)] | UnsetType = UNSET
    cost: (
        Annotated[
            float,
            Meta(
                description="Cost of all turns by the `prices` of the model, after which it is not asked again.", gt=0
            ),
        ]
        | UnsetType
    ) = UNSET


class HistoryLimits(Fields):
    """How much of a long conversation is sent; what is left out stays in the trace."""

    max_messages: (
        Annotated[int, Meta(description="Most messages of a request, system texts not counted.", ge=1)] | UnsetType
    ) = UNSET
    max_tokens: (
        Annotated[
            int,
            Meta(
                description="Most tokens of the messages of a request, estimated: bytes of UTF-8 by 4, 4 more for each"
                " message, 1000 for an image.",
                ge=1,
            ),
        ]
        | UnsetType
    ) = UNSET


@kind("Ai.Agent", implements=Invocable)
class Agent(Kind):
    """A model that works with tools until it has an answer."""

    is_conversational: ClassVar[bool] = True  # `runtime chat` can talk with it

    model: Slot[Model, "The model that is asked."]
    system: Annotated[str, Meta(description="The system text: who the agent is and how it works.")] = ""
    options: Annotated[
        Mapping[str, Any],
        Meta(description="Options of the model, such as `temperature`; they go before those on the model itself."),
    ] = {}
    tool_providers: Annotated[
        Sequence[ToolProviderEntry],
        Meta(description="Where the tools come from, in the order in which they are offered."),
    ] = ()
    max_steps: Annotated[int, Meta(description="Most turns that the model gets in one run.", ge=1)] = 8
    on_max_steps: Annotated[
        Literal["throw", "return"],
        Meta(description="After the last turn: `throw` fails the run, `return` gives the text that there is."),
    ] = "throw"
    on_tool_error: Annotated[
        Literal["feedback", "throw"],
        Meta(description="When a tool fails: `feedback` tells the model and goes on, `throw` fails the run."),
    ] = "feedback"
    tool_choice: Annotated[
        Literal["auto", "none", "required"] | NamedTool,
        Meta(
            description="Whether the model may, may not or must call a tool first, or which one; `none` always holds."
        ),
    ] = "auto"
    max_parallel_tools: Annotated[
        int, Meta(description="Most tool calls of one turn that run at the same time.", ge=1)
    ] = 32
    tool_timeout_ms: (
        Annotated[
            int, Meta(description="Most milliseconds for a tool call; without it the provider's own limit holds.", ge=1)
        ]
        | UnsetType
    ) = UNSET
    max_result_characters: Annotated[
        int, Meta(description="Most characters of a tool's result that the model reads; the rest is cut off.", ge=1)
    ] = 100_000
    require_approval: Annotated[
        Sequence[str],
        Meta(
            description="The tools whose calls a person has to approve: names with their prefix, or globs. On a"
            " terminal `apply` asks, with all arguments; where nobody can be asked, the call is refused.",
            extra_json_schema=FIXED,
        ),
    ] = ()
    limits: Annotated[RunLimits, Meta(description="The most that one run may use.")] = RunLimits()
    history: Annotated[
        HistoryLimits,
        Meta(
            description="Leaves the oldest part of a long conversation out of requests: first earlier questions with"
            " their answers, then turns with their results; never the system text, the question or the newest turn."
        ),
    ] = HistoryLimits()
    output: OutputField = UNSET

    durable: DurableField = UNSET

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """PREFIX_INVALID: a prefix that no legal name of a tool of the model's provider can have.

        SCHEMA_VALUE: an `output.schema` that is no JSON Schema, at the faulty place; a limit of cost where the model
        has no prices.
        """
        report_output_faults(inspection)
        inspect_durable(inspection)
        model = inspection.at("model")
        if model is not None and "prices" in model.kind.__struct_fields__ and not model.has("prices"):
            for place, _ in inspection.find("limits", "cost", expressions=True):
                wrong = f'the cost is not known: the model "{model.title}" has no `prices`'
                inspection.report("SCHEMA_VALUE", place, wrong)
        tool_format = model.kind.find_tool_rules(model)[0] if model is not None else ""
        for path, prefix in inspection.find("toolProviders", "*", "prefix"):
            reason = find_prefix_fault(prefix, tool_format) if isinstance(prefix, str) else None
            if reason is not None:
                inspection.report("PREFIX_INVALID", path, f'no tool can have the prefix "{prefix}": {reason}')

    @classmethod
    def find_offer(cls, inspection: Inspection) -> "ToolOffer":
        """The tools of its providers, in the format of its model."""
        from runtime.known_tools import ToolOffer

        model = inspection.at("model")
        uses = [_find_use(inspection, path, entry) for path, entry in inspection.find("toolProviders", "*")]
        return ToolOffer(uses, *model.kind.find_tool_rules(model)) if model is not None else ToolOffer(uses)

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Invocable]:
        from runtime.ai.agent import Agent as LiveAgent
        from runtime.ai.tool_set import Source, label_sources

        labels = label_sources([entry.provider for entry in self.tool_providers])
        sources = [
            Source(entry.provider, label, entry.prefix, _given(entry.include), entry.exclude)
            for label, entry in zip(labels, self.tool_providers, strict=True)
        ]
        agent = LiveAgent(context.name, self.model, sources, self._rules(context), context.warn, context.mask)
        if not isinstance(self.durable, DurableRuns):
            yield agent
            return
        from runtime.ai.kept import KeptAgent, make_agent_target, read_rules

        with self.durable.store.host(make_agent_target(agent, read_rules(self.durable), context.digest)):
            yield KeptAgent(agent, self.durable.store)

    def _rules(self, context: Context) -> "RunRules":
        from runtime.ai.history import HistoryRule
        from runtime.ai.limits import Limits
        from runtime.ai.run import RunRules
        from runtime.ai.turn import ToolRules

        timeout = _given(self.tool_timeout_ms)
        most = self.limits
        history = HistoryRule(_given(self.history.max_messages), _given(self.history.max_tokens))
        return RunRules(
            system=self.system,
            options=self.options,
            max_steps=self.max_steps,
            on_max_steps=self.on_max_steps,
            tool_choice=self.tool_choice.name if isinstance(self.tool_choice, NamedTool) else self.tool_choice,
            tools=ToolRules(
                self.on_tool_error,
                self.max_parallel_tools,
                timeout / 1000 if timeout else None,
                self.max_result_characters,
                self.require_approval,
            ),
            limits=Limits(_given(most.tokens), _given(most.tool_calls), _given(most.seconds), _given(most.cost)),
            output=make_output_rule(self.output, context),
            history=history if history != HistoryRule() else None,
        )


def _find_use(inspection: Inspection, path: tuple[str | int, ...], entry: Any) -> "ToolUse":
    """What an entry of `toolProviders` says; where one of its fields is at fault, nothing is known of its tools."""
    from runtime.known_tools import ToolUse

    provider = inspection.at(*path, "provider")
    if provider is None or not isinstance(entry, Mapping):
        return ToolUse(path, "", None)
    prefix, include, exclude = entry.get("prefix", ""), entry.get("include"), entry.get("exclude", [])
    if type(prefix) is not str or not _are_texts(exclude) or ("include" in entry and not _are_texts(include)):
        return ToolUse(path, provider.title, None)
    return ToolUse(path, provider.title, provider.tools, prefix, include, exclude)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(type(text) is str for text in value)


def _given(value: T | UnsetType) -> T | None:
    return None if isinstance(value, UnsetType) else value
