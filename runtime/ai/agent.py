"""The agent: one loop of model turns and tool calls, told as events."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal

from msgspec import Struct

from runtime.ai.contracts import Message, Model, ModelRequest, TextDelta, ToolCall, TurnEnd, Usage
from runtime.ai.events import Answer, Event, Failed, Finished, ToolAnswered
from runtime.ai.inputs import Inputs, read_inputs, start_messages
from runtime.ai.tool_set import BoundTool, Source, ToolSet
from runtime.ai.turn import Call, ToolRules, answer_message, resolve_calls, run_calls
from runtime.errors import AgentError, Error, ModelError


class AgentRules(Struct, frozen=True, kw_only=True):
    """What an agent's manifest says of its runs."""

    system: str = ""
    options: Mapping[str, Any] = {}
    max_steps: int = 8
    on_max_steps: Literal["throw", "return"] = "throw"
    tool_choice: str = "auto"
    tools: ToolRules = ToolRules()


class Agent:
    """A live agent. Runs share its tools and its model, and nothing else: any number may be under way at once."""

    def __init__(self, name: str, model: Model, sources: Sequence[Source], rules: AgentRules) -> None:
        self.name = name
        self._model = model
        self._tools = ToolSet(name, sources, model.tool_format)
        self._rules = rules

    async def tools(self) -> Sequence[BoundTool]:
        """The tools that the agent offers, in order: name, bare tool and source of each.

        Raises `AgentError`: ERR_AGENT_TOOL_COLLISION, ERR_AGENT_TOOL_FILTER; and what the providers raise.
        """
        return list((await self._tools.offer()).bound.values())

    async def invoke(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The events of a run, collected: `{text, usage, finishReason, steps}`; inputs and errors as for `run`."""
        answer = Answer()
        async with aclosing(self.run(inputs)) as events:
            async for event in events:
                answer.add(event)
        return answer.to_json()

    async def run(self, inputs: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
        """One run as it happens.

        `inputs`: `prompt` (text) or `messages` (a list), `system` (text), `options` (a mapping). The last event is
        `finish`, or `error`, after which the error is raised: `AgentError` ERR_AGENT_INPUT, ERR_AGENT_MAX_STEPS,
        ERR_AGENT_TOOL_COLLISION, ERR_AGENT_TOOL_FILTER, ERR_AGENT_TOOL_CHOICE; `ModelError`; with `onToolError: throw`
        what a tool raised, or `ToolError` ERR_AGENT_TOOL_ERROR. Closing the iterator stops what is under way.
        """
        try:
            run = Run(self._model, self._tools, self._rules, read_inputs(inputs))
            for step in range(1, self._rules.max_steps + 1):
                async with aclosing(run.ask(step)) as deltas:
                    async for delta in deltas:
                        yield delta
                for call in run.calls:
                    yield call.told
                if not run.calls:
                    break
                if step == self._rules.max_steps:
                    self._stop_at_limit()
                    break
                for answer in await run.answer():
                    yield answer
            yield run.finish()
        except Error as error:
            if error.resource is None:
                error.resource = self.name
            yield Failed.of(error)
            raise

    def _stop_at_limit(self) -> None:
        if self._rules.on_max_steps == "throw":
            limit = self._rules.max_steps
            raise AgentError(
                f"the model still wants tools in its last turn, which is number {limit}",
                code="ERR_AGENT_MAX_STEPS",
                hint="raise `maxSteps`, or set `onMaxSteps: return` to take the text that there is",
                details={"maxSteps": limit},
            )


class Run:
    """The state of one run: its messages, what it has used, and the turn that it is in."""

    def __init__(self, model: Model, tools: ToolSet, rules: AgentRules, inputs: Inputs) -> None:
        self._model = model
        self._tools = tools
        self._rules = rules
        self._messages = start_messages(inputs, rules.system)
        self._options = {**rules.options, **inputs.options} if isinstance(inputs.options, dict) else rules.options
        self._choice = rules.tool_choice
        self._usage = Usage()
        self._text = ""
        self._end = TurnEnd((), "other", Usage())
        self.calls: list[Call] = []

    async def ask(self, step: int) -> AsyncGenerator[TextDelta, None]:
        """One turn of the model: its text as it comes; at the end `calls` are the tool calls that it wants."""
        offer = await self._tools.offer()
        choice = offer.choose(self._choice)
        request = ModelRequest(self._messages, offer.tools, self._options, choice, offer.block)
        pieces: list[str] = []
        end: TurnEnd | None = None
        async with aclosing(self._model.generate(request)) as turn:
            async for piece in turn:
                if isinstance(piece, TextDelta):
                    pieces.append(piece.text)
                    yield piece
                else:
                    end = piece
        if end is None:
            raise ModelError("the model's turn came to no end")
        self._end = end
        self._text = "".join(pieces)
        self._usage += end.usage
        self.calls = resolve_calls(_number_calls(end.tool_calls, step), offer)

    async def answer(self) -> list[ToolAnswered]:
        """Run the turn's calls; they and their answers join the messages, in call order."""
        answers = await run_calls(self.calls, self._rules.tools)
        wanted = [call.wanted for call in self.calls]
        self._messages.append(Message("assistant", self._text, wanted, provider_data=self._end.provider_data))
        self._messages += [answer_message(answer, call.name) for answer, call in zip(answers, wanted, strict=True)]
        if self._choice != "none":  # a choice that held on would ask for calls for ever
            self._choice = "auto"
        return answers

    def finish(self) -> Finished:
        return Finished(self._text, self._end.finish_reason, self._usage)


def _number_calls(calls: Sequence[ToolCall], step: int) -> list[ToolCall]:
    """The calls with an id each: some servers leave it out or give one twice."""
    seen: set[str] = set()
    numbered = []
    for index, call in enumerate(calls):
        name = call.id if call.id and call.id not in seen else f"call_{step}_{index}"
        seen.add(name)
        numbered.append(ToolCall(name, call.name, call.arguments))
    return numbered
