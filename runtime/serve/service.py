"""The service behind every protocol: what is live, the runs under way, those that ended."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from runtime.ai.approval import approvals_by
from runtime.ai.contracts import Message
from runtime.ai.events import Failed
from runtime.ai.wishes import Wishes
from runtime.errors import Error, UsageError
from runtime.reconcile import Difference, Keeper
from runtime.serve.admission import Admission
from runtime.serve.approvals import Approvals
from runtime.serve.graph import ServedGraph
from runtime.serve.metrics import Metrics
from runtime.serve.runs import Keep, ServedRun, Status, run_masked
from runtime.serve.sessions import Sessions, open_sessions
from runtime.serve.settings import Settings

Reload = Callable[[], Awaitable[Difference]]

log = logging.getLogger("runtime.serve")


class NotFound(Error):
    """There is no such thing here."""

    code = "ERR_SERVE_NOT_FOUND"


class Service:
    """Begins runs and remembers them. `graph` is what new runs use; `reload` brings the keeper's next set up."""

    def __init__(
        self, keeper: Keeper, reload: Reload, settings: Settings, sessions: Sessions, group: TaskGroup
    ) -> None:
        self.graph = ServedGraph(keeper.current)
        self._keeper = keeper
        self._reload = reload
        self._sessions = sessions
        self._applying = anyio.Lock()
        self._changed = anyio.Event()
        self.version = 1
        self.settings = settings
        self.admission = Admission(settings.max_runs, settings.max_queue)
        self.metrics = Metrics(self.admission)
        self.runs: dict[str, ServedRun] = {}
        self._group = group
        self._kept = 0
        self._under_way: set[ServedRun] = set()
        self._idle = anyio.Event()

    @contextmanager
    def using_graph(self) -> Iterator[ServedGraph]:
        """What is live now; it stays so while the block runs."""
        graph = self.graph
        with graph.generation.used():
            yield graph

    async def apply(self) -> Difference:
        """Read the set again, and change what differs. Raises ManifestError and others; nothing has changed then."""
        async with self._applying:
            difference = await self._reload()
            self.graph = ServedGraph(self._keeper.current)
            self.version += 1
            changed, self._changed = self._changed, anyio.Event()
            changed.set()
        self.metrics.applied()
        return difference

    @property
    def warnings(self) -> Mapping[str, str]:
        """What was last said against each resource, by name."""
        return self._keeper.warnings

    @property
    def starting(self) -> Collection[str]:
        """The names of what is being started for the next set."""
        return self._keeper.starting

    async def until_changed(self) -> None:
        """Until another set takes the place of this one, or the service ends."""
        await self._changed.wait()

    def find_target(self, name: str) -> Any:
        """The instance that runs are asked of by this name; raises NotFound."""
        try:
            return self.graph.invocables[name]
        except KeyError:
            names = ", ".join(self.graph.invocables) or "none"
            raise NotFound(f'there is no agent "{name}"', hint=f"there are: {names}") from None

    def find_scheduled(self) -> list[Any]:
        """The tasks of the live set that begin by the clock (`runtime.durable.schedules.Scheduled`)."""
        return [each for each in self.graph.invocables.values() if getattr(each, "schedule", "")]

    def find_run(self, name: str) -> ServedRun:
        """A run that is under way or kept; raises NotFound."""
        try:
            return self.runs[name]
        except KeyError:
            raise NotFound(f'there is no run "{name}"', hint="runs are forgotten some time after they ended") from None

    def begin(
        self,
        target: str,
        inputs: Mapping[str, Any],
        session: str = "",
        *,
        can_ask: bool = False,
        wishes: Wishes | None = None,
        keep: Keep | None = None,
        run_id: str = "",
        enqueued: Any = None,
    ) -> ServedRun:
        """Begin a run; raises NotFound, Busy or Draining where it cannot be taken, and as `Sessions.claimed`.

        `enqueued` is the run where a store has it already, in whose queue it waits instead of for a place here.

        With `can_ask` calls that need approval wait for `run.approvals`; without, they are refused. `wishes` are those
        of an agent's caller, and `keep` gets its conversation where no session keeps it.
        """
        instance = self.find_target(target)
        stack = ExitStack()
        if session:
            if target not in self.graph.agents:
                raise UsageError(f'"{target}" is no agent, and has no sessions')
            stack.enter_context(self._sessions.claimed(session, target))
        if enqueued is None:
            try:
                self.admission.admit()
            except Error:
                stack.close()
                raise
        else:
            instance, run_id = enqueued, enqueued.run_id
        run = ServedRun(target, session, run_id)
        run.is_kept = enqueued is not None
        self.runs[run.id] = run
        self._under_way.add(run)
        graph = stack.enter_context(self.using_graph())
        if can_ask:
            run.approvals = Approvals(run.tell, graph.masker, self.settings.approval_seconds)
        work = partial(self._run, run, instance, inputs, graph, wishes, keep)
        self._group.start_soon(self._carry_out, run, graph, stack, work)
        return run

    async def drain(self) -> None:
        """Take nothing new, and give what runs its time; what is not done by then is cancelled."""
        self.admission.close()
        self._changed.set()
        stores = self.graph.stores
        for store in stores:
            store.release()
        with anyio.move_on_after(self.settings.drain_seconds):
            for store in stores:
                await store.drain()
            for run in [each for each in self._under_way if each.is_kept and not each.events]:
                run.cancel()  # it waits for another process to carry it on
            await self._until_idle()
        for run in list(self._under_way):
            run.cancel()
        await self._until_idle()

    async def _until_idle(self) -> None:
        while self._under_way:
            self._idle = anyio.Event()
            await self._idle.wait()

    async def _carry_out(
        self, run: ServedRun, graph: ServedGraph, stack: ExitStack, work: Callable[[], Awaitable[None]]
    ) -> None:
        try:
            if run.approvals is not None:
                stack.enter_context(approvals_by(run.approvals))
            with stack, run.scope:
                async with nullcontext() if run.is_kept else self.admission.place():
                    run.status = "running"
                    await work()
            run.end(self._stopped(run) if run.scope.cancelled_caught else "finished")
        except Error as error:
            self._fail(run, error, graph)
        except Exception as error:  # the border of a run: a fault of ours ends it, and no other
            log.error("run %s: %s: %s", run.id, type(error).__name__, graph.masker(str(error)))
            self._fail(run, Error("the run failed for a fault of the runtime", code="ERR_INTERNAL"), graph)
        finally:
            if not run.is_over:
                run.end(self._stopped(run))
            self._under_way.discard(run)
            self._idle.set()
            self.metrics.ran(run)
            self._keep(run)

    async def _run(
        self,
        run: ServedRun,
        instance: Any,
        inputs: Mapping[str, Any],
        graph: ServedGraph,
        wishes: Wishes | None,
        keep: Keep | None,
    ) -> None:
        if not run.session:
            await run_masked(run, instance, inputs, graph.masker, keep, wishes)
            return
        sessions, key = self._sessions, (run.session, run.target)

        async def keep_session(messages: list[Message]) -> None:
            await sessions.keep(*key, messages, graph.masker)

        async with sessions.held(*key):
            extended = await sessions.extend(*key, inputs)
            await run_masked(run, instance, extended, graph.masker, keep_session)

    def _stopped(self, run: ServedRun) -> Status:
        """How a run is that was stopped: what a store has goes on elsewhere when the service ends."""
        return "interrupted" if run.is_kept and self.admission.is_closed else "cancelled"

    def _fail(self, run: ServedRun, error: Error, graph: ServedGraph) -> None:
        mask = graph.masker
        error.message, error.hint = mask(error.message), mask(error.hint) if error.hint else None
        run.error, run.cause = Failed(error.code, error.message, error.resource, error.hint), error
        if not (run.events and run.events[-1].startswith(b'{"type":"error"')):
            run.events.append(msgspec.json.encode(run.error))
        run.end("failed")

    def _keep(self, run: ServedRun) -> None:
        """Forget the oldest runs that ended, until the rest is as few and as small as the settings say."""
        self._kept += run.size
        while self._is_too_much():
            old = next((each for each in self.runs.values() if each.is_over), None)  # the oldest come first
            if old is None:
                break
            del self.runs[old.id]
            self._kept -= old.size

    def _is_too_much(self) -> bool:
        ended = len(self.runs) - len(self._under_way)
        return ended > self.settings.kept_runs or (self._kept > self.settings.kept_bytes and ended > 1)


@asynccontextmanager
async def open_service(keeper: Keeper, reload: Reload, settings: Settings) -> AsyncIterator[Service]:
    """A service over the set that a keeper has up; leaving cancels what still runs. Raises as `open_sessions`."""
    sessions = open_sessions(settings.sessions, Path(settings.folder))
    async with sessions as opened, anyio.create_task_group() as group:
        yield Service(keeper, reload, settings, opened, group)
        group.cancel_scope.cancel()
