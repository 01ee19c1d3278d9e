"""Agents and tasks whose runs are kept in a store: each run survives its process, and goes on where its record ends."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import msgspec
from msgspec import Struct

from runtime.ai.agent import Agent
from runtime.ai.contracts import Message, TextDelta
from runtime.ai.durable_field import DurableRuns
from runtime.ai.events import (
    Answer,
    Event,
    Failed,
    Finished,
    MediaMade,
    OutputRefused,
    ToolAnswered,
    ToolCalled,
    collect,
)
from runtime.ai.journal import JournalRules, RunJournal
from runtime.ai.run import Run, RunRules
from runtime.ai.task import Task, ToldTask
from runtime.ai.tool_set import BoundTool
from runtime.ai.wishes import Wishes
from runtime.durable.contracts import Follower, Journal, QueueRules, Store, Target
from runtime.errors import Error
from runtime.runs import call_key, find_journal, journaling


class KeptAgent:
    """An agent of which every run is kept, but for those in which the caller has wishes, such as tools of its own."""

    is_kept = True

    def __init__(self, agent: Agent, store: Store, run_id: str | None = None) -> None:
        self.name = agent.name
        self._agent = agent
        self._store = store
        self._run_id = run_id

    @property
    def system(self) -> str:
        """The system text of its manifest."""
        return self._agent.system

    @property
    def has_output(self) -> bool:
        """Whether its answers are structured."""
        return self._agent.has_output

    async def tools(self) -> Sequence[BoundTool]:
        """As `Agent.tools`."""
        return await self._agent.tools()

    def apply(self, wishes: Wishes) -> RunRules:
        """As `Agent.apply`."""
        return self._agent.apply(wishes)

    def named(self, run_id: str) -> "KeptAgent":
        """The agent as it begins the run of this id, or goes on with it where there is one."""
        return KeptAgent(self._agent, self._store, run_id)

    def start(self, inputs: Mapping[str, Any], wishes: Wishes | None = None) -> "Run | KeptRun":
        """A run that has not begun; raises as `Agent.start`."""
        if wishes is not None or find_journal() is not None:  # within a kept task it is a part of that one's run
            return self._agent.start(inputs, wishes)
        return KeptRun(self.name, self._store, inputs, self._run_id)

    async def enqueue(self, inputs: Mapping[str, Any], run_id: str | None, priority: int | None) -> "KeptRun":
        """A run that its store has queued, or has by this id; raises as `Store.start`."""
        follower = await self._store.start(self.name, inputs, run_id=run_id, queued=True, priority=priority)
        return KeptRun(self.name, self._store, inputs, follower.run_id, follower)

    def run(self, inputs: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
        """One run as it happens; inputs, events and errors as in `Run.events` and `Follower.result`."""
        return self.start(inputs).events()

    async def invoke(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """A run's events, collected (`Answer.to_json`)."""
        return await collect(self.run(inputs))


class KeptTask:
    """A task of which every run is kept, with all that its agent does."""

    is_kept = True

    def __init__(self, task: Task, store: Store, run_id: str | None = None, schedule: str = "") -> None:
        """`schedule` is when runs begin by themselves, in processes that stay up (`runtime.durable.schedules`)."""
        self.name = task.name
        self.store = store
        self.schedule = schedule
        self._task = task
        self._store = store
        self._run_id = run_id

    def named(self, run_id: str) -> "KeptTask":
        """The task as it begins the run of this id, or goes on with it where there is one."""
        return KeptTask(self._task, self._store, run_id)

    async def invoke(self, inputs: Mapping[str, Any]) -> Any:
        """As `Task.invoke`, and as `Follower.result`."""
        if find_journal() is not None:
            return await self._task.invoke(inputs)
        follower = await self._store.start(self.name, inputs, run_id=self._run_id or call_key() or None)
        async with _cancelled_with(follower):
            return await follower.result()

    async def enqueue(
        self, inputs: Mapping[str, Any], run_id: str | None, priority: int | None
    ) -> "QueuedTask | KeptRun":
        """A run that its store has queued, or has by this id; raises as `Store.start`."""
        return QueuedTask(await self._store.start(self.name, inputs, run_id=run_id, queued=True, priority=priority))


class KeptToldTask(KeptTask):
    """One whose agent tells what it does."""

    _task: ToldTask

    def named(self, run_id: str) -> "KeptToldTask":
        """As `KeptTask.named`."""
        return KeptToldTask(self._task, self._store, run_id)

    def run(self, inputs: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
        """One run as it happens; inputs, events and errors as in `ToldTask.run` and `Follower.result`."""
        if find_journal() is not None:
            return self._task.run(inputs)
        return KeptRun(self.name, self._store, inputs, self._run_id, may_be_empty=True).events()

    async def enqueue(self, inputs: Mapping[str, Any], run_id: str | None, priority: int | None) -> "KeptRun":
        """A run that its store has queued, or has by this id; raises as `Store.start`."""
        follower = await self._store.start(self.name, inputs, run_id=run_id, queued=True, priority=priority)
        return KeptRun(self.name, self._store, inputs, follower.run_id, follower)


def make_kept_task(task: Task, store: Store, schedule: str) -> KeptTask:
    """A task of which every run is kept, and which tells what it does where the task tells it."""
    if isinstance(task, ToldTask):
        return KeptToldTask(task, store, schedule=schedule)
    return KeptTask(task, store, schedule=schedule)


class QueuedTask:
    """One run of a task that is in its store."""

    def __init__(self, follower: Follower) -> None:
        self.run_id = follower.run_id
        self._follower = follower

    async def invoke(self, inputs: Mapping[str, Any]) -> Any:
        """As `Follower.result`."""
        async with _cancelled_with(self._follower):
            return await self._follower.result()


class KeptRun:
    """One run that is kept. `messages` is its conversation, where it was carried on in this process.

    `follower` is that of a run which is in the store already. Unless inputs `may_be_empty`, without any the run is not
    begun and has to be there.
    """

    def __init__(
        self,
        agent: str,
        store: Store,
        inputs: Mapping[str, Any],
        run_id: str | None,
        follower: Follower | None = None,
        *,
        may_be_empty: bool = False,
    ) -> None:
        self.run_id = run_id
        self._follower = follower
        self._agent = agent
        self._store = store
        self._inputs = inputs if inputs or may_be_empty else None
        self._id = run_id or call_key() or None  # as another's tool it is the run of that call
        self._run: Run | None = None

    @property
    def messages(self) -> list[Message]:
        return self._run.messages if self._run is not None else []

    async def events(self) -> AsyncGenerator[Event, None]:
        """As `Run.events`. `finish` comes once it is recorded; a run that happened elsewhere is told when it is over.

        Closing the iterator cancels the run.
        """
        try:
            follower = self._follower or await self._store.start(self._agent, self._inputs, run_id=self._id)
        except Error as error:
            error.resource = error.resource or self._agent
            yield Failed.of(error)
            raise
        async with _cancelled_with(follower):
            told = Answer()
            last: Event | None = None
            while (event := await follower.next_event()) is not None:
                if isinstance(event, Run):
                    self._run = event
                    continue
                if isinstance(event, Finished | Failed):
                    last = event
                else:
                    told.add(event)
                    yield event
            try:
                result = await follower.result()
            except Error as error:
                error.resource = error.resource or self._agent
                yield last if isinstance(last, Failed) else Failed.of(error)
                raise
            if isinstance(last, Finished):
                yield last
                return
            for event in read_events(result, told.steps):  # it ended elsewhere
                yield event


@asynccontextmanager
async def _cancelled_with(follower: Follower) -> AsyncIterator[None]:
    """Whoever does not wait for the run any more wants it cancelled; of one that is over nothing changes."""
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await follower.cancel()


class KeptRules(Struct, frozen=True):
    """What a manifest says of kept runs; with `continues` also those go on that began under another manifest."""

    journal: JournalRules
    continues: bool
    queue: QueueRules = QueueRules()


def read_rules(durable: DurableRuns) -> KeptRules:
    """The rules of the field `durable`."""
    rules = JournalRules(durable.on_uncertain_tool, durable.retry_safe)
    wanted = msgspec.to_builtins(durable.queue)
    queue = QueueRules(
        concurrency=wanted.get("concurrency"),
        worker_concurrency=wanted.get("concurrencyPerProcess"),
        rate=wanted.get("rate"),
        rate_seconds=durable.queue.rate_seconds,
    )
    return KeptRules(rules, durable.on_manifest_change == "continue", queue)


def make_agent_target(agent: Agent, rules: KeptRules, digest: str) -> Target:
    """What a store hosts of an agent."""

    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        with journaling(RunJournal(journal, rules.journal)):
            run = agent.start(inputs)
        journal.tell(run)
        return await collect(_tell(run.events(), journal))

    return Target(name=agent.name, digest=digest, work=work, continues=rules.continues, queue=rules.queue)


async def _tell(events: AsyncGenerator[Event, None], journal: Journal) -> AsyncGenerator[Event, None]:
    async with aclosing(events):
        async for event in events:
            journal.tell(event)
            yield event


def make_task_target(task: Task, rules: KeptRules, digest: str) -> Target:
    """What a store hosts of a task."""

    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        with journaling(RunJournal(journal, rules.journal)):
            if not isinstance(task, ToldTask):
                return await task.invoke(inputs)
            return await collect(_tell(task.run(inputs), journal))

    return Target(name=task.name, digest=digest, work=work, continues=rules.continues, queue=rules.queue)


def read_events(answer: Mapping[str, Any], told: Sequence[Mapping[str, Any]] = ()) -> list[Event]:
    """The events that an answer is made of, each turn's text in one piece; without those of the steps that were told.

    Of the last of those only the results of tools can be missing.
    """
    events: list[Event] = []
    for place, step in enumerate(answer["steps"]):
        is_told = place < len(told)
        if step["text"] and not is_told:
            events.append(TextDelta(step["text"]))
        if not is_told and ("images" in step or "rest" in step):
            made = {name: step[name] for name in ("images", "rest") if name in step}
            events.append(msgspec.convert({"type": "media", **made}, MediaMade))
        if not is_told:
            events += [ToolCalled(**call) for call in step["toolCalls"]]
        if not is_told or not told[place]["toolResults"]:
            found = [{"type": "tool-result", **result} for result in step["toolResults"]]
            events += [msgspec.convert(each, ToolAnswered) for each in found]
        if "refused" in step and not is_told:
            events.append(OutputRefused(step["refused"]))
    end = {name: value for name, value in answer.items() if name != "steps"}
    events.append(msgspec.convert({"type": "finish", **end}, Finished))
    return events
