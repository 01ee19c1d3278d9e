"""The agent: a model, its tools and the rules of its runs."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from runtime.ai.caller_tools import ExtendedTools
from runtime.ai.common_options import check_common
from runtime.ai.contracts import Model
from runtime.ai.events import Event, collect
from runtime.ai.run import Run, RunRules
from runtime.ai.tool_set import BoundTool, Offering, Source, ToolSet
from runtime.ai.wishes import Wishes
from runtime.errors import AgentError
from runtime.runs import find_journal


class Agent:
    """A live agent. Its runs share its tools and its model, and nothing else: any number may be under way at once."""

    def __init__(
        self,
        name: str,
        model: Model,
        sources: Sequence[Source],
        rules: RunRules,
        warn: Callable[[str], None],
        mask: Callable[[str], str] = str,
    ) -> None:
        """`mask` hides secrets in what is traced."""
        self.name = name
        self._mask = mask
        self._model = model
        self._tools = ToolSet(name, sources, model.tool_format, model.max_tools, warn, rules.tools.approval)
        self._rules = rules

    @property
    def system(self) -> str:
        """The system text of its manifest."""
        return self._rules.system

    @property
    def has_output(self) -> bool:
        """Whether its answers are structured: JSON of a form, which may be asked for again."""
        return self._rules.output is not None

    async def tools(self) -> Sequence[BoundTool]:
        """The tools that the agent offers, in order: name, bare tool and source of each.

        Raises `AgentError`: ERR_AGENT_TOOL_COLLISION, ERR_AGENT_TOOL_FILTER, ERR_AGENT_TOOL_LIMIT, ERR_AGENT_APPROVAL;
        and what the providers raise.
        """
        return list((await self._tools.offer()).bound.values())

    def start(self, inputs: Mapping[str, Any], wishes: Wishes | None = None) -> Run:
        """A run that has not begun: `events()` runs it; another run can go on from its `messages`.

        Raises `AgentError` for wishes that cannot be met: ERR_AGENT_OPTION, ERR_AGENT_INPUT.
        """
        tools: Offering = self._tools
        rules = self._rules
        if wishes is not None:
            rules = self.apply(wishes)
            tools = ExtendedTools(self._tools, wishes.tools) if wishes.tools else tools
        return Run(self.name, self._model, tools, rules, inputs, self._mask, find_journal())

    def apply(self, wishes: Wishes) -> RunRules:
        """The rules of a run with these wishes; raises as `start`."""
        rules = self._rules
        check_common(wishes.options, self._model, self.name)
        if wishes.output is not None and rules.output is not None:
            raise AgentError("the answers of the agent have a form of their own", resource=self.name)
        choice = wishes.tool_choice or rules.tool_choice
        if rules.tool_choice == "none" and choice not in ("auto", "none"):
            raise AgentError("the agent calls no tools: its `toolChoice` is none", resource=self.name)
        return structs.replace(
            rules,
            common=wishes.options,
            output=wishes.output or rules.output,
            tool_choice="none" if rules.tool_choice == "none" else choice,
        )

    def run(self, inputs: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
        """One run as it happens; inputs, events and errors as in `Run.events`."""
        return self.start(inputs).events()

    async def invoke(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """A run's events, collected (`Answer.to_json`); inputs and errors as in `Run.events`."""
        return await collect(self.run(inputs))
