"""A run that is kept: what its loop asks of the world, each a step of the run's record.

The loop is the same without: where there is a journal, model, tools and calls go through what stands here. Of each turn
the places of its steps are taken at once, in an order that is always the same: the tools that are offered, the model,
and for each call its approval, the note that it is about to be made, and the call. A place that is not needed stays
empty.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import Any, Literal

import msgspec
from msgspec import Struct

from runtime.ai.approval import ApprovalRequest, Decision, ask_approval
from runtime.ai.call import Call
from runtime.ai.contracts import Model, ModelRequest, TextDelta, Tool, ToolCall, TurnEnd, Usage
from runtime.ai.events import ToolAnswered, ToolCalled
from runtime.ai.limits import Budget, Limits
from runtime.ai.nesting import Caller, calling, find_caller
from runtime.ai.selection import make_filter
from runtime.ai.tool_set import BoundTool, Offer, Source, ToolSet
from runtime.ai.uncertainty import UncertainCall, ask_uncertain
from runtime.durable.contracts import INTENT, Journal, Slot, Wait
from runtime.durable.values import read_error, spell_error
from runtime.errors import AgentError, DurableError, Error, ToolError
from runtime.masking import MASK
from runtime.runs import journaling, keyed_call

SKIPPED = "nobody knows whether this call was carried out: the process that made it died before the answer came"
"""What the model reads of an uncertain call that is not made again."""


class JournalRules(Struct, frozen=True):
    """What a manifest says of kept runs: `retry_safe` are names and globs of tools as the agent offers them."""

    on_uncertain: Literal["ask", "retry", "fail"] = "ask"
    retry_safe: Sequence[str] = ()


class _Nothing:
    """Stands for the provider of what is no tool."""

    async def list_tools(self) -> Sequence[Tool]:
        return ()

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        raise ToolError(f'there is no tool "{name}"')


class _Places(Struct, frozen=True):
    """Where the steps of one call go."""

    approval: Slot
    intent: Slot
    call: Slot


class RunJournal:
    """The record of one run in the words of agents."""

    def __init__(self, journal: Journal, rules: JournalRules) -> None:
        self.journal = journal
        self._rules = rules
        self._is_listed = make_filter(rules.retry_safe)
        self._places: dict[str, _Places] = {}
        self._retried: set[str] = set()
        self._skipped: set[str] = set()
        self._gone = ""  # a provider whose state ended with the process that used it
        self._model: JournaledModel | None = None

    def wrap(self, tools: Any, model: Model) -> "tuple[JournaledTools, JournaledModel]":
        """The tools (a `ToolSet`) and the model of the run, both by its record."""
        kept = JournaledTools(self, tools)
        self._model = JournaledModel(self, model, kept)
        return kept, self._model

    def take_turn(self) -> tuple[Slot, Slot]:
        """The places of the offered tools and of the model in the next turn."""
        return self.journal.reserve("tools"), self.journal.reserve("model")

    async def run(self, slot: Slot, work: Callable[[], Awaitable[Any]]) -> Any:
        """A step, outside of whose work nothing is a part of this record.

        Raises `AgentError` ERR_AGENT_RESUMABLE for a new step after the state of a provider was lost.
        """
        if self._gone and not slot.is_recorded:
            raise AgentError(
                f'the run used "{self._gone}", whose state ended with the process that used it',
                code="ERR_AGENT_RESUMABLE",
                hint="it says `resumable: false`: such a run has to be begun anew",
            )

        async def inside() -> Any:
            with journaling(None):
                return await work()

        return await slot.run(inside)

    async def settle_calls(self, agent: str, calls: Sequence[Call]) -> None:
        """Take the places of a turn's calls, and decide on those that may have been carried out already.

        Raises `DurableError`: ERR_DURABLE_UNCERTAIN, and ERR_DURABLE_SECRET for a call that is still to be made and
        whose arguments held a secret, which the record does not have.
        """
        reserve = self.journal.reserve
        for call in calls:
            name = call.told.name
            places = _Places(reserve(f"approve {name}"), reserve(f"{INTENT}{name}"), reserve(f"call {name}"))
            self._places[call.told.id] = places
        for call in calls:
            places = self._places[call.told.id]
            if call.tool is None or places.call.is_recorded:
                continue
            if self._model is not None and self._model.is_masked and MASK in call.wanted.arguments:
                raise DurableError(
                    f'the call of "{call.tool.name}" cannot be made: its arguments held a secret, which no store has',
                    code="ERR_DURABLE_SECRET",
                    hint="begin the run anew; what a tool needs of secrets belongs to the settings of its server",
                )
            if places.intent.is_recorded and not self._is_safe(call.tool):
                await self._settle(agent, call.told.id, call.tool, call.told.arguments, places)

    async def _settle(self, agent: str, id: str, tool: BoundTool, arguments: Any, places: _Places) -> None:
        rule, number = self._rules.on_uncertain, places.call.number
        said = f'the call of "{tool.name}" was under way when its process died, and may have been carried out'
        question = Wait("ERR_DURABLE_UNCERTAIN", said, number, tool.name)
        choice: str = rule
        if rule == "ask":
            asked = UncertainCall(agent, self.journal.run_id, number, tool.name, arguments)
            choice = await self.journal.decide(question, lambda: ask_uncertain(asked))
        if choice == "fail":
            details = {"run": self.journal.run_id, "step": number, "tool": tool.name}
            hint = f'"runtime runs resume {self.journal.run_id} PATH" makes the call again'
            raise DurableError(said, code="ERR_DURABLE_UNCERTAIN", hint=hint, details=details)
        (self._skipped if choice == "skip" else self._retried).add(id)

    def _is_safe(self, tool: BoundTool) -> bool:
        """Whether a call may be made twice: its server says so, or the manifest does."""
        hints = tool.tool.annotations
        return hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True or self._is_listed(tool.name)

    async def approve(self, request: ApprovalRequest) -> Decision:
        """What was decided on a call, or is now."""

        async def ask() -> Any:
            return msgspec.to_builtins(await ask_approval(request))

        return msgspec.convert(await self.run(self._places[request.id].approval, ask), Decision)

    async def call(self, call: Call, make: Callable[[], Awaitable[ToolAnswered]]) -> ToolAnswered:
        """The answer of a call: the recorded one, or that of `make`; noted before it is made unless it may be twice."""
        id, tool = call.told.id, call.tool
        places = self._places.pop(id)
        caller = find_caller()
        if tool is not None and not self._is_safe(tool) and id not in self._skipped:
            await self.run(places.intent, self._note)
        own = Budget(call.told.name, Limits(), caller.budget if caller is not None else None)
        failures: list[Error] = []
        is_new = False

        async def work() -> Any:
            nonlocal is_new
            is_new = True
            if id in self._skipped:
                skipped = ToolAnswered(id, call.told.name, SKIPPED, True, "ERR_DURABLE_UNCERTAIN")
                return {"answer": msgspec.to_builtins(skipped)}
            try:
                with _spending(caller, own), keyed_call(f"{self.journal.run_id}/{places.call.number}"):
                    answer = await make()
            except Error as error:
                failures.append(error)
                return {"error": spell_error(error)}
            record: dict[str, Any] = {"answer": msgspec.to_builtins(answer)}
            return record if own.used == Usage() else {**record, "usage": msgspec.to_builtins(own.used)}

        record = await self.run(places.call, work)
        if not is_new:
            if tool is not None and not getattr(tool.source.provider, "is_resumable", True):
                self._gone = tool.source.label
            if "usage" in record and caller is not None:
                caller.budget.spend(msgspec.convert(record["usage"], Usage))
        if "error" in record:
            raise failures[0] if failures else read_error(record["error"])
        return msgspec.convert(record["answer"], ToolAnswered)

    async def invoke(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """What is run that is no agent, as one call of which nothing is known: see `settle_calls` and `call`."""
        tool = BoundTool(Tool(name, "", {}), name, Source(_Nothing(), name), _ignore)
        call = Call(ToolCall("invoke", name, "{}"), ToolCalled("invoke", name, {}), tool)
        results: list[Any] = []

        async def make() -> ToolAnswered:
            results.append(msgspec.to_builtins(await work()))
            return ToolAnswered("invoke", name, "", rest=results)

        await self.settle_calls(name, [call])
        return (await self.call(call, make)).rest[0]

    async def _note(self) -> Any:
        return {"attempt": self.journal.attempt}


class JournaledTools:
    """The tools of a kept run: what was offered then is offered again, whatever the providers list by now."""

    def __init__(self, journal: RunJournal, tools: ToolSet) -> None:
        self._journal = journal
        self._tools = tools
        self._offer: Offer | None = None
        self._alike: Offer | None = None  # what the providers list, where that is what is offered
        self.model_slot: Slot

    @property
    def instructions(self) -> list[str]:
        return self._tools.instructions

    async def offer(self) -> Offer:
        slot, self.model_slot = self._journal.take_turn()
        if self.model_slot.is_recorded and not slot.is_recorded and self._offer is not None:
            return self._offer
        live = await self._tools.offer()
        if self._offer is not None and not slot.is_recorded and (live is self._alike or not self._is_other(live)):
            self._alike = live
            return self._offer
        shown = self._tools.spell(live)

        async def show() -> Any:
            return shown

        recorded = await self._journal.run(slot, show)
        is_alike = recorded == shown
        self._offer, self._alike = (live, live) if is_alike else (self._tools.restore(recorded), None)
        return self._offer

    def _is_other(self, live: Offer) -> bool:
        """Whether the tools are others than those that are offered."""
        return self._offer is None or self._tools.spell(live) != self._tools.spell(self._offer)


class JournaledModel:
    """The model of a kept run: a turn that is recorded is not asked for again. Keeps the contract `Ai.Model`."""

    def __init__(self, journal: RunJournal, model: Model, tools: JournaledTools) -> None:
        self._journal = journal
        self._model = model
        self._tools = tools
        self.is_masked = False

    @property
    def tool_format(self) -> str:
        return self._model.tool_format

    @property
    def max_tools(self) -> int | None:
        return self._model.max_tools

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        """The turn as it comes, or the whole of what was recorded of it; raises what the model raised."""
        pieces: asyncio.Queue[TextDelta | None] = asyncio.Queue()
        failures: list[Error] = []
        ends: list[TurnEnd] = []

        async def ask() -> Any:
            texts: list[str] = []
            try:
                async with aclosing(self._model.generate(request)) as turn:
                    async for piece in turn:
                        if isinstance(piece, TextDelta):
                            texts.append(piece.text)
                            pieces.put_nowait(piece)
                        else:
                            ends.append(piece)
            except Error as error:
                failures.append(error)
                return {"error": spell_error(error)}
            return {"text": "".join(texts), "end": msgspec.to_builtins(ends[-1]) if ends else None}

        step = asyncio.create_task(self._journal.run(self._tools.model_slot, ask))
        step.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            record = step.result()
            self.is_masked = not ends and bool(record.get("isMasked"))
        finally:
            if not step.done():
                step.cancel()
                await asyncio.wait([step])
        if failures:
            raise failures[0]
        if "error" in record:
            raise read_error(record["error"])
        if ends:
            yield ends[-1]
            return
        if record["text"]:
            yield TextDelta(record["text"])
        if record["end"] is not None:
            yield msgspec.convert(record["end"], TurnEnd)


def _spending(caller: Caller | None, budget: Budget) -> AbstractContextManager[None]:
    """While the block runs, what is spent for a caller's call is counted in a budget of the call's own as well."""
    return nullcontext() if caller is None else calling(msgspec.structs.replace(caller, budget=budget))


def _ignore(message: str) -> None:
    """Nothing."""
