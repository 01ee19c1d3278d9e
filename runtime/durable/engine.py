"""The store at work: runs that are started, followed and carried on in this process, each a workflow of DBOS."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import copy_context
from typing import Any
from uuid import uuid4

import anyio
import sqlalchemy as sa
from anyio import to_thread
from dbos import DBOS, SetEnqueueOptions, SetWorkflowAttributes, SetWorkflowID, WorkflowSerializationFormat
from dbos._serialization import PortableWorkflowError

from runtime.durable.contracts import RunInfo, Target
from runtime.durable.database import WORKFLOW, open_engine
from runtime.durable.following import RunFollower, merge, outside
from runtime.durable.intake import Intake, find_intake
from runtime.durable.ledger import DbosLedger, asking, queue_name, unknown
from runtime.durable.logs import quiet_logs
from runtime.durable.record import RunRecord, cancelled, waits
from runtime.durable.values import Mask, make_plain, spell_error
from runtime.durable.watch import StoreRules, Watch
from runtime.errors import DurableError, Error

TAKING_SECONDS = 5.0
"""Most time from the end of what was asked for until runs that were taken up begin."""

_open: "DbosStore | None" = None  # DBOS is one per process, and so is the store that is at work


class _Active:
    """A run that is carried on here."""

    def __init__(self, target: str, task: "asyncio.Task[Any]") -> None:
        self.target = target
        self.task = task
        self.over = asyncio.Event()


class DbosStore:
    """Keeps the contract `Store`."""

    def __init__(
        self, ledger: DbosLedger, rules: StoreRules, mask: Mask, log: Callable[[str], None], intake: Intake
    ) -> None:
        self.ledger = ledger
        self.intake = intake
        self._mask = mask
        self._hosted: dict[str, Target] = {}
        self._active: dict[str, _Active] = {}
        self._begun: set[str] = set()
        self._has_begun = asyncio.Event()
        self._fresh: set[str] = set()
        self._followers: dict[str, RunFollower] = {}
        self._waiting: set[RunFollower] = set()
        self._is_draining = False
        self._is_released = False
        self._watch = Watch(ledger, rules, self._hosted, self._active, log, intake)

    # -- the contract ----------------------------------------------------------------------

    @contextmanager
    def host(self, target: Target) -> Iterator[None]:
        self._hosted[target.name] = target
        self._watch.changed.set()
        try:
            yield
        finally:
            if self._hosted.get(target.name) is target:
                del self._hosted[target.name]
            for active in list(self._active.values()):
                if active.target == target.name:
                    active.task.cancel()

    async def start(
        self,
        target: str,
        inputs: Mapping[str, Any] | None,
        *,
        run_id: str | None = None,
        queued: bool = False,
        priority: int | None = None,
    ) -> RunFollower:
        hosted = self._hosted[target]
        await self._watch.is_up.wait()
        info = await self.ledger.find(run_id) if run_id is not None else None
        if info is not None:
            return await self._follow(hosted, info)
        if inputs is None:
            raise unknown(str(run_id))
        run_id = run_id or uuid4().hex
        plain = make_plain(inputs)
        if make_plain(inputs, self._mask) != plain:
            raise DurableError(
                "the inputs hold the value of a secret, which a store must not have",
                code="ERR_DURABLE_SECRET",
                resource=target,
                hint="leave it out of what is asked, or put `durable` on the task that puts it there",
            )
        follower = self._followers[run_id] = RunFollower(run_id, self, outside())
        facts = {"target": target, "digest": hosted.digest}
        if queued:
            queue = queue_name(target, hosted.digest)

            async def begin() -> Any:
                with SetWorkflowID(run_id), SetWorkflowAttributes(facts), SetEnqueueOptions(priority=priority):
                    return await DBOS.enqueue_workflow_async(queue, _carry_on, target, plain)
        else:
            self._fresh.add(run_id)

            async def begin() -> Any:
                with SetWorkflowID(run_id), SetWorkflowAttributes(facts):
                    return await DBOS.start_workflow_async(_carry_on, target, plain)

        try:
            handle = await asyncio.create_task(begin(), context=follower.context.copy())
        except sa.exc.SQLAlchemyError as error:
            raise DurableError(f"the store does not answer: {error}") from error
        follower.wait_for(handle, self._waiting)
        self._watch.sweep_soon()
        return follower

    def release(self) -> None:
        self._is_released = True

    async def drain(self) -> None:
        if self._watch.is_up.is_set() and not self.intake.takes_queued:
            with anyio.move_on_after(TAKING_SECONDS):  # what silent processes left behind is on its way here
                await self._watch.is_swept.wait()
                while self._watch.taken - self._begun:
                    self._has_begun.clear()
                    await self._has_begun.wait()
        self._is_draining = self._watch.is_over = True
        self.intake.close()
        while self._active:
            await next(iter(self._active.values())).over.wait()

    # -- one run ---------------------------------------------------------------------------

    async def _follow(self, hosted: Target, info: RunInfo) -> RunFollower:
        """Follow a run that is there; one that nobody carries on is taken up here."""
        if info.target != hosted.name:
            message = f'the run "{info.id}" is of "{info.target}", not of "{hosted.name}"'
            raise DurableError(message, code="ERR_DURABLE_STATE", resource=hosted.name)
        is_over = info.state in ("finished", "failed")
        is_idle = info.state in ("interrupted", "cancelled", "waiting", "queued")
        if is_idle and info.digest != hosted.digest and not hosted.continues:
            raise DurableError(
                f'the run "{info.id}" began under another manifest of "{hosted.name}"',
                code="ERR_DURABLE_MANIFEST",
                resource=hosted.name,
                hint="set `onManifestChange: continue`, bring the earlier manifest up, or begin a run of another id",
            )
        follower = RunFollower(info.id, self, outside())
        if not is_over:
            self._followers[info.id] = follower
        if is_idle and info.state != "queued":
            await self.ledger.resume(info.id)
        if is_idle:  # where nobody else takes it meanwhile
            queue = queue_name(hosted.name, info.digest)
            await asking(lambda: self.ledger.tables.move(info.id, queue, self._watch.own_queue))
        follower.wait_for(await DBOS.retrieve_workflow_async(info.id), self._waiting)
        self._watch.sweep_soon()
        return follower

    async def carry_on(self, target: str, inputs: Mapping[str, Any]) -> Any:
        """A run from its start to its end, however much of it is recorded; called by DBOS."""
        run_id = str(DBOS.workflow_id)
        hosted = self._hosted.get(target)
        task = asyncio.current_task()
        if hosted is None or self._is_draining or task is None:
            raise asyncio.CancelledError  # the row stays as it is: another process takes the run up
        active = self._active[run_id] = _Active(target, task)
        self._begun.add(run_id)
        self._has_begun.set()
        try:
            recorded: set[int] = set()
            facts: Mapping[str, Any] = {}
            if run_id not in self._fresh:
                recorded, facts = await asking(lambda: self.ledger.tables.find_record(run_id))
            follower = self._followers.get(run_id)
            tell = follower.tell if follower is not None else _forget
            ledger = self.ledger
            journal = RunRecord(run_id, recorded, facts, self._mask, ledger.park, ledger.forget_decision, tell)
            context = copy_context()
            merge(context, follower.context if follower is not None else self.intake.context)
            work = asyncio.create_task(_await(hosted.work(inputs, journal)), context=context)
            return make_plain(await work, self._mask)
        except Error as error:
            spelled = make_plain(spell_error(error), self._mask)
            raise PortableWorkflowError(spelled["message"], spelled["type"], error.code, spelled) from error
        finally:
            self._fresh.discard(run_id)
            self._followers.pop(run_id, None)
            task.add_done_callback(lambda _: self._note_end(run_id, active))  # by then its end is recorded

    def _note_end(self, run_id: str, active: _Active) -> None:
        if self._active.get(run_id) is active:
            del self._active[run_id]
        active.over.set()

    async def stop(self, run_id: str) -> bool:
        """Cancel a run, and wait until nothing of it is under way here; False where it is left to others."""
        if not self._is_released:
            with suppress(DurableError):  # it is over
                await self.ledger.cancel(run_id)
        active = self._active.get(run_id)
        if active is not None:
            active.task.cancel()
            await active.over.wait()
        return not self._is_released

    async def find_end(self, run_id: str) -> DurableError:
        """Why a run that was cancelled was."""
        info = await self.ledger.info(run_id)
        return waits(run_id, info.wait) if info.wait is not None else cancelled(run_id)

    async def watch(self) -> None:
        """Bring DBOS up, and look after the runs of all processes, while the store is open."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch.look)
            await self._watch.watch()

    async def shut(self) -> None:
        """Stop what is under way, and say that this process carries nothing on."""
        self._is_draining = self._watch.is_over = True
        for active in list(self._active.values()):
            active.task.cancel()
        for active in list(self._active.values()):
            await active.over.wait()
        for follower in list(self._waiting):
            await follower.leave()
        await self._watch.leave()
        await to_thread.run_sync(DBOS.destroy)


@DBOS.workflow(name=WORKFLOW, serialization_type=WorkflowSerializationFormat.PORTABLE)
async def _carry_on(target: str, inputs: dict[str, Any]) -> Any:
    if _open is None:
        raise asyncio.CancelledError
    with _open.intake.carrying(str(DBOS.workflow_id), target):
        return await _open.carry_on(target, inputs)


@asynccontextmanager
async def open_store(
    rules: StoreRules, folder: str, mask: Mask, log: Callable[[str], None]
) -> AsyncIterator[DbosStore]:
    """The store while the block runs; a SQLite file is relative to `folder`.

    Raises `DurableError` ERR_DURABLE_STORE where the database does not answer, or another store is open already.
    """
    global _open
    if _open is not None:
        message = "another store is at work in this process, and a process can have one"
        raise DurableError(message, hint="let all agents of a set use the same `Durable.Store`")
    quiet_logs(log)
    engine = open_engine(rules.url, folder)
    ledger = await asking(lambda: DbosLedger(engine, make_tables=True))
    store = _open = DbosStore(ledger, rules, mask, log, find_intake())
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(store.watch)
            yield store
            group.cancel_scope.cancel()
    except BaseExceptionGroup as group_error:
        raise _leaf(group_error) from None
    finally:
        with anyio.CancelScope(shield=True):
            await store.shut()
            await ledger.close()
        _open = None
        # DBOS made its threads the loop's, and they have ended.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_name_prefix="asyncio"))


def _leaf(error: BaseException) -> BaseException:
    """The cause inside groups of exceptions."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _await(work: Awaitable[Any]) -> Any:
    return await work


def _forget(event: Any) -> None:
    """Nobody follows the run here."""
