"""A run: the loop of model turns and tool calls, written once, as events."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, Struct, convert

from runtime.ai.call import Call, resolve_calls
from runtime.ai.contracts import Image, Message, Model, ModelRequest, Part, Text, TextDelta, ToolCall, TurnEnd, Usage
from runtime.ai.events import Event, Failed, Finished, MediaMade, OutputRefused, ToolAnswered, ToolCalled
from runtime.ai.history import History, HistoryRule
from runtime.ai.inputs import read_inputs, start_messages
from runtime.ai.limits import Budget, Limits
from runtime.ai.nesting import Caller, calling, find_caller
from runtime.ai.output import OutputRule
from runtime.ai.spans import RunSpans
from runtime.ai.tool_set import Offer, Offering
from runtime.ai.turn import ToolRules, answer_message, approve_calls, run_calls
from runtime.errors import AgentError, Error, ModelError
from runtime.runs import run_scope

if TYPE_CHECKING:
    from runtime.ai.journal import RunJournal


class RunRules(Struct, frozen=True, kw_only=True):
    """What an agent's manifest says of its runs; `common` is what a caller says, as in `ModelRequest`."""

    system: str = ""
    options: Mapping[str, Any] = {}
    common: Mapping[str, Any] = {}
    max_steps: int = 8
    on_max_steps: Literal["throw", "return"] = "throw"
    tool_choice: str = "auto"
    tools: ToolRules = ToolRules()
    limits: Limits = Limits()
    output: OutputRule | None = None
    history: HistoryRule | None = None


class Run:
    """One run of an agent. `messages` is its conversation, which ends with the answer once the run has finished."""

    def __init__(
        self,
        agent: str,
        model: Model,
        tools: Offering,
        rules: RunRules,
        inputs: Mapping[str, Any],
        mask: Callable[[str], str] = str,
        journal: "RunJournal | None" = None,
    ) -> None:
        """`journal` is the record of a run that is kept."""
        self.messages: list[Message] = []
        self._spans = RunSpans(agent, model, mask)
        self._agent = agent
        self._model = model
        self._tools = tools
        self._journal = journal
        if journal is not None:
            self._tools, self._model = journal.wrap(tools, model)
        self._rules = rules
        self._inputs = inputs
        self._options = rules.options
        self._choice = rules.tool_choice
        self._usage = Usage()
        self._text = ""
        self._end = TurnEnd((), "other", Usage())
        self._value: Any = UNSET
        self._calls: list[Call] = []
        self._history: History | None = None
        self._was_refused = False

    async def events(self) -> AsyncGenerator[Event, None]:
        """The run as it happens; to be asked for once.

        The inputs are `prompt` (text) or `messages` (a list), `system` (text) and `options` (a mapping). The last event
        is `finish`, or `error`, after which the error is raised: `AgentError` ERR_AGENT_INPUT, ERR_AGENT_MAX_STEPS,
        ERR_AGENT_LIMIT, ERR_AGENT_TOOL_COLLISION, ERR_AGENT_TOOL_FILTER, ERR_AGENT_TOOL_LIMIT, ERR_AGENT_TOOL_CHOICE,
        ERR_AGENT_APPROVAL, ERR_AGENT_OUTPUT; `ModelError`; with `onToolError: throw` what a tool raised, or `ToolError`
        ERR_TOOL_UNKNOWN, ERR_TOOL_ARGUMENTS, ERR_TOOL_TIMEOUT, ERR_AGENT_APPROVAL (`approvals_by` says who is asked).
        Closing the iterator stops what is under way. The model gets `maxSteps` turns; tools that it wants in the last
        one do not run, as nobody would read their results. A turn with calls of the caller's tools is the last: what
        else it wants is run, and `finish` has the calls that are left to the caller.
        """
        self._spans.begin()
        try:
            async with run_scope(), aclosing(self._turns()) as events:
                async for event in events:
                    yield event
        except Error as error:
            if error.resource is None:
                error.resource = self._agent
            self._spans.run.fail(error.code)
            yield Failed.of(error)
            raise
        finally:
            self._spans.end(self._usage)

    async def _turns(self) -> AsyncGenerator[Event, None]:
        """Turns of the model and their tool calls, until there is an answer."""
        rules = self._rules
        self._begin()
        caller = find_caller()
        budget = Budget(self._agent, rules.limits, caller.budget if caller is not None else None)
        for step in range(1, rules.max_steps + 1):
            offer, request = await self._prepare(budget)
            async with aclosing(self._ask(request, budget)) as deltas:
                async for delta in deltas:
                    yield delta
            self._usage += self._end.usage
            budget.spend(self._end.usage)
            if self._end.images or self._end.rest:
                yield MediaMade(self._end.images, self._end.rest)
            self._calls = resolve_calls(_number_calls(self._end.tool_calls, step), offer)
            for call in self._calls:
                yield call.told
            if not self._calls:
                refused = self._refuse_output() if step < rules.max_steps else None
                if refused is None:
                    break
                yield refused
                continue
            handed = [call.told for call in self._calls if call.is_callers]
            if step == rules.max_steps and not handed:
                self._meet_max_steps()
                break
            last: Mapping[str, Any] | None = None
            async with aclosing(self._answer(budget)) as told:
                async for answer in told:
                    if answer.ends_run and last is None:
                        last = answer.rest[0]
                    yield answer
            if handed:
                yield self._hand_over(handed, budget.used)
                return
            if last is not None:
                yield self._take_over(last)
                break
        yield self._finish(budget.used)

    def _begin(self) -> None:
        inputs = read_inputs(self._inputs)
        additions = self._tools.instructions
        if self._rules.output:
            additions.append(self._rules.output.instruction)
        self.messages = start_messages(inputs, self._rules.system, additions)
        if self._rules.history:
            self._history = History(self._rules.history, self.messages)
        if isinstance(inputs.options, dict):
            self._options = {**self._rules.options, **inputs.options}

    async def _prepare(self, budget: Budget) -> tuple[Offer, ModelRequest]:
        """The tools of this moment, and the request for the next turn."""
        budget.check_usage()
        offer = await budget.bound(self._tools.offer())
        rules, choice = self._rules, offer.choose(self._choice)
        messages = self._history.trim(self.messages) if self._history else self.messages
        return offer, ModelRequest(messages, offer.tools, self._options, choice, offer.block, rules.common)

    async def _ask(self, request: ModelRequest, budget: Budget) -> AsyncGenerator[TextDelta, None]:
        """One turn of the model: its text as it comes; at the end `_text` is all of it, and `_end` the turn's end."""
        pieces: list[str] = []
        end: TurnEnd | None = None
        span = self._spans.begin_turn()
        try:
            async with aclosing(self._model.generate(request)) as turn:
                while (piece := await budget.bound(anext(turn, None))) is not None:
                    if isinstance(piece, TextDelta):
                        pieces.append(piece.text)
                        yield piece
                    else:
                        end = piece
            if end is None:
                raise ModelError("the model's turn came to no end")
            self._end, self._text = end, "".join(pieces)
            self._spans.tell_turn(span, request.messages, self._text, end)
        except Error as error:
            span.fail(error.code)
            raise
        finally:
            span.end()

    async def _answer(self, budget: Budget) -> AsyncGenerator[ToolAnswered, None]:
        """Run the calls that are not the caller's; at the end the turn and their answers join the messages."""
        rules, calls = self._rules.tools, [call for call in self._calls if not call.is_callers]
        budget.spend_calls(len(calls))
        if self._journal is not None:
            await self._journal.settle_calls(self._agent, calls)
        if rules.approval:
            calls = await budget.bound(approve_calls(calls, rules, self._agent, self._journal))
        caller = Caller(budget, tuple(self.messages))
        answers: list[ToolAnswered] = []
        async with aclosing(run_calls(calls, rules, self._spans, self._journal)) as told:
            while len(answers) < len(calls):
                with calling(caller):
                    answers.append(await budget.bound(anext(told)))
                yield answers[-1]
        wanted = [call.wanted for call in self._calls]
        self.messages.append(self._answer_message(wanted))
        self.messages += [answer_message(answer, call.wanted.name) for answer, call in zip(answers, calls, strict=True)]
        if self._choice != "none":  # a choice that held on would ask for calls for ever
            self._choice = "auto"

    def _meet_max_steps(self) -> None:
        if self._rules.on_max_steps == "throw":
            limit = self._rules.max_steps
            raise AgentError(
                f"the model still wants tools in its last turn, number {limit}",
                code="ERR_AGENT_MAX_STEPS",
                hint="raise `maxSteps`, or set `onMaxSteps: return` to take the text that there is",
                details={"maxSteps": limit},
            )

    def _refuse_output(self) -> OutputRefused | None:
        """What the model is told of a first answer that is not of the agent's form; None where there is nothing."""
        output = self._rules.output
        if output is None or self._was_refused:
            return None
        try:
            output.read(self._text, self._end.finish_reason)
        except AgentError as error:
            self._was_refused = True
            self.messages += [self._answer_message(), Message("user", output.ask_again(error))]
            return OutputRefused(error.message)
        return None

    def _finish(self, used: Usage) -> Finished:
        self.messages.append(self._answer_message())
        output = self._rules.output
        value = output.read(self._text, self._end.finish_reason) if output else self._value
        images = self._end.images or UNSET
        return Finished(self._text, self._end.finish_reason, used, value, images=images)

    def _take_over(self, last: Mapping[str, Any]) -> TextDelta:
        """The answer of the agent to which the conversation was handed over becomes that of the run."""
        images = convert(last.get("images", []), list[Image])
        self._text, self._value = str(last["text"]), last.get("output", UNSET)
        self._end = TurnEnd((), last["finishReason"], Usage(), images=images)
        return TextDelta(self._text)

    def _hand_over(self, calls: list[ToolCalled], used: Usage) -> Finished:
        """The end of a run whose caller has to carry out calls."""
        return Finished(self._text, "tool-calls", used, tool_calls=calls)

    def _answer_message(self, calls: Sequence[ToolCall] = ()) -> Message:
        content: str | list[Part] = self._text
        if self._end.images:
            content = [*([Text(self._text)] if self._text else []), *self._end.images]
        return Message("assistant", content, list(calls), provider_data=self._end.provider_data)


def _number_calls(calls: Sequence[ToolCall], step: int) -> list[ToolCall]:
    """The calls with an id each: some servers leave it out or give one twice."""
    seen: set[str] = set()
    numbered = []
    for index, call in enumerate(calls):
        name = call.id if call.id and call.id not in seen else f"call_{step}_{index}"
        seen.add(name)
        numbered.append(ToolCall(name, call.name, call.arguments))
    return numbered
