"""The agent: a model, its tools and the rules of its runs."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from runtime.ai.contracts import Model
from runtime.ai.events import Answer, Event
from runtime.ai.run import Run, RunRules
from runtime.ai.tool_set import BoundTool, Source, ToolSet


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

    def start(self, inputs: Mapping[str, Any]) -> Run:
        """A run that has not begun: `events()` runs it; another run can go on from its `messages`."""
        return Run(self.name, self._model, self._tools, self._rules, inputs, self._mask)

    def run(self, inputs: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
        """One run as it happens; inputs, events and errors as in `Run.events`."""
        return self.start(inputs).events()

    async def invoke(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """A run's events, collected (`Answer.to_json`); inputs and errors as in `Run.events`."""
        answer = Answer()
        async with aclosing(self.run(inputs)) as events:
            async for event in events:
                answer.add(event)
        return answer.to_json()
