"""The ledger over DBOS's tables: what is stored of runs, read and changed without carrying any on."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from anyio import to_thread
from dbos import DBOSClient, SetWorkflowID
from dbos._serialization import DBOSPortableJSON, PortableWorkflowError
from msgspec import UNSET, convert

from runtime.durable.contracts import INTENT, Decision, RunDetails, RunInfo, RunState, StepInfo, Wait
from runtime.durable.database import SCHEMA, WORKFLOW, Process, Tables, open_engine
from runtime.durable.logs import quiet_logs
from runtime.errors import DurableError

T = TypeVar("T")

APPLICATION = "runtime"
PAGE = 500
"""Rows that are read at once."""

_STATES: dict[str, RunState] = {
    "SUCCESS": "finished",
    "ERROR": "failed",
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "failed",
    "CANCELLED": "cancelled",
    "ENQUEUED": "queued",
    "DELAYED": "queued",
    "PENDING": "running",
}
_STORED: dict[RunState, tuple[str, ...]] = {
    "finished": ("SUCCESS",),
    "failed": ("ERROR", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"),
    "cancelled": ("CANCELLED",),
    "queued": ("ENQUEUED", "DELAYED"),
    "running": ("PENDING",),
    "interrupted": ("PENDING",),
    "waiting": ("CANCELLED", "PENDING", "ENQUEUED", "DELAYED"),
}


async def open_ledger(url: str, folder: str) -> "DbosLedger":
    """The ledger of a store by its address; a SQLite file is relative to `folder`. Makes the tables where they are not.

    Raises `DurableError` ERR_DURABLE_STORE where there is no database, or it cannot be made.
    """
    quiet_logs()
    engine = open_engine(url, folder)
    return await asking(lambda: DbosLedger(engine, make_tables=True))


async def asking(work: Callable[[], T]) -> T:
    """What `work` gives, which asks the database and is run in a thread; raises `DurableError` ERR_DURABLE_STORE."""
    try:
        return await to_thread.run_sync(work)
    except sa.exc.SQLAlchemyError as error:
        cause = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
        raise DurableError(f"the store does not answer: {cause}") from error


class DbosLedger:
    """Keeps the contract `Ledger`."""

    def __init__(self, engine: sa.Engine, *, make_tables: bool = False) -> None:
        """Blocks. Raises what SQLAlchemy raises where the database does not answer."""
        self.tables = Tables(engine)
        self.engine = engine
        self.client = DBOSClient(
            system_database_engine=engine,
            dbos_system_schema=SCHEMA,
            serializer=DBOSPortableJSON,
            application_name=APPLICATION,
            retry_connection_errors=False,
            lazy=True,
        )
        if make_tables:
            self.client._sys_db.run_migrations()
            self.tables.create()

    async def list(
        self, *, states: Sequence[RunState] = (), target: str | None = None, limit: int = 100, offset: int = 0
    ) -> list[RunInfo]:
        stored = sorted({row for state in states for row in _STORED[state]}) or None
        # SQLite does not look into attributes: there each run is read.
        facts = {"target": target} if target is not None and self.tables.dialect != "sqlite" else None

        def read() -> list[RunInfo]:
            processes = self.tables.list()
            found: list[RunInfo] = []
            at = 0
            while len(found) < offset + limit:
                rows = self.client.list_workflows(
                    name=WORKFLOW,
                    status=stored,
                    attributes=facts,
                    limit=PAGE,
                    offset=at,
                    sort_desc=True,
                    load_input=False,
                    load_output=False,
                )
                infos = [_read_info(row, processes) for row in rows]
                found += [
                    info for info in infos if (not states or info.state in states) and target in (None, info.target)
                ]
                at += PAGE
                if len(rows) < PAGE:
                    break
            return found[offset : offset + limit]

        return await asking(read)

    async def info(self, run_id: str) -> RunInfo:
        found = await self.find(run_id)
        if found is None:
            raise unknown(run_id)
        return found

    async def find(self, run_id: str) -> RunInfo | None:
        """One run, or None where there is none of that id."""

        def read() -> RunInfo | None:
            row = self._find_row(run_id, with_values=False)
            return _read_info(row, self.tables.list()) if row is not None else None

        return await asking(read)

    async def show(self, run_id: str) -> RunDetails:
        def read() -> RunDetails:
            row = self._find_row(run_id, with_values=True)
            if row is None:
                raise unknown(run_id)
            steps = [_read_step(step) for step in self.client.list_workflow_steps(run_id)]
            info = _read_info(row, self.tables.list())
            inputs = row.input["args"][1] if row.input else {}
            result = row.output if info.state == "finished" else UNSET
            return RunDetails(info, inputs, steps, result, _spell_cause(row.error) if row.error else UNSET)

        return await asking(read)

    async def resume(self, run_id: str, *, uncertain: Decision | None = None) -> None:
        info = await self.info(run_id)
        if info.state in ("queued", "running"):
            return
        if info.state == "finished":
            raise _wrong_state(info, "resumed")
        if info.wait is not None and info.wait.step and uncertain is not None:
            decision: dict[str, Any] | None = {"step": info.wait.step, "choice": uncertain}
        else:
            decision = None
        queue = queue_name(info.target, info.digest)

        def change() -> None:
            facts: dict[str, Any] = {"wait": None} if decision is None else {"wait": None, "decision": decision}
            self.client.update_workflow_attributes(run_id, facts, merge=True)
            if info.executor and info.state in ("interrupted", "waiting"):
                self.client._sys_db.reenqueue_for_recovery(run_id, [info.executor], queue)
            if info.state == "failed":
                numbers = [step["function_id"] for step in self.client.list_workflow_steps(run_id)]
                self.client.rewind_workflow(
                    run_id, start_step=self._start_of(run_id, max(numbers, default=1)), queue_name=queue
                )
            elif info.state == "cancelled" or (info.wait is not None and info.wait.step):
                self.client.resume_workflow(run_id, queue_name=queue)

        await asking(change)

    async def cancel(self, run_id: str) -> None:
        info = await self.info(run_id)
        if info.state in ("finished", "failed"):
            raise _wrong_state(info, "cancelled")

        def change() -> None:
            self.client.update_workflow_attributes(run_id, {"wait": None}, merge=True)
            self.client.cancel_workflow(run_id)

        await asking(change)

    async def park(self, run_id: str, wait: Wait) -> None:
        """Put a run aside, which says why it waits."""

        def change() -> None:
            facts = {"code": wait.code, "message": wait.message, "step": wait.step, "tool": wait.tool}
            self.client.update_workflow_attributes(run_id, {"wait": facts, "decision": None}, merge=True)
            self.client.cancel_workflow(run_id)

        await asking(change)

    async def forget_decision(self, run_id: str) -> None:
        """What was decided for a run has been done."""
        await asking(lambda: self.client.update_workflow_attributes(run_id, {"decision": None}, merge=True))

    async def fork(self, run_id: str, from_step: int, *, new_id: str | None = None) -> str:
        info = await self.info(run_id)
        if new_id is not None and await self.find(new_id) is not None:
            raise DurableError(f'there is a run "{new_id}" already', code="ERR_DURABLE_STATE")

        def make() -> str:
            numbers = [step["function_id"] for step in self.client.list_workflow_steps(run_id)]
            if from_step != 1 and from_step not in numbers:
                last = f", the last is {max(numbers)}" if numbers else ""
                message = f'the run "{run_id}" has no step {from_step}{last}'
                raise DurableError(message, code="ERR_DURABLE_STEP", details={"steps": sorted(numbers)})
            start = self._start_of(run_id, from_step)
            queue = queue_name(info.target, info.digest)
            if new_id is None:
                handle = self.client.fork_workflow(run_id, start, queue_name=queue)
            else:
                with SetWorkflowID(new_id):
                    handle = self.client.fork_workflow(run_id, start, queue_name=queue)
            made = handle.get_workflow_id()
            self.client.update_workflow_attributes(made, {"wait": None, "decision": None}, merge=True)
            return made

        return await asking(make)

    async def prune(self, older_than: float) -> int:
        def change() -> int:
            count = 0
            while found := self.tables.find_over(older_than, PAGE):
                self.client.delete_workflows(list(found))
                count += len(found)
            return count

        return await asking(change)

    async def close(self) -> None:
        await to_thread.run_sync(self.client.destroy)
        # What a thread still asks for somebody who waits no more comes back after this, and is closed then.
        sa.event.listen(self.engine, "checkin", lambda _, record: record.close())
        self.engine.dispose()

    def _find_row(self, run_id: str, *, with_values: bool) -> Any:
        rows = self.client.list_workflows(
            workflow_ids=[run_id], name=WORKFLOW, load_input=with_values, load_output=with_values
        )
        return rows[0] if rows else None

    def _start_of(self, run_id: str, number: int) -> int:
        """Where a step begins: a call that somebody wants to be made again begins with what was noted before it."""
        names = {step["function_id"]: step["function_name"] for step in self.client.list_workflow_steps(run_id)}
        return number - 1 if names.get(number - 1, "").startswith(INTENT) else number


def queue_name(target: str, digest: str) -> str:
    """The queue of a target as one manifest has it: whoever hosts another does not take up what began under this."""
    return f"{target}@{digest}"


def _read_info(row: Any, processes: Sequence[Process]) -> RunInfo:
    facts = row.attributes or {}
    target, digest = facts.get("target", ""), facts.get("digest", "")
    alive = [process for process in processes if process.is_alive]
    state: RunState = _STATES[row.status]
    wait = convert(facts["wait"], Wait) if state == "cancelled" and facts.get("wait") else None
    if state == "running" and row.executor_id not in [process.id for process in alive]:
        state = "interrupted"
    if wait is None and state in ("queued", "interrupted"):
        wait = _find_manifest_wait(target, digest, row.queue_name, alive)
    return RunInfo(
        id=row.workflow_id,
        target=target,
        state="waiting" if wait is not None else state,
        digest=digest,
        created=(row.created_at or 0) / 1000,
        updated=(row.updated_at or 0) / 1000,
        attempts=row.recovery_attempts or 0,
        executor=row.executor_id or "",
        forked_from=row.forked_from or "",
        wait=wait,
    )


def _find_manifest_wait(target: str, digest: str, queue: str | None, alive: Sequence[Process]) -> Wait | None:
    """A run waits for its manifest where live processes host its target, and each as another manifest has it."""
    hosts = {name for process in alive for name in process.hosts if name.startswith(f"{target}@")}
    if not hosts or hosts & {queue_name(target, digest), queue}:
        return None
    return Wait("ERR_DURABLE_MANIFEST", f'it began under another manifest of "{target}" than those that are up')


def _read_step(step: Any) -> StepInfo:
    started, ended = step["started_at_epoch_ms"] or 0, step["completed_at_epoch_ms"] or 0
    output = step["output"] if step["error"] is None else {"error": _spell_cause(step["error"])}
    return StepInfo(step["function_id"], step["function_name"], started / 1000, max(ended - started, 0) / 1000, output)


def _spell_cause(error: BaseException) -> dict[str, Any]:
    if isinstance(error, PortableWorkflowError) and isinstance(error.data, dict) and "message" in error.data:
        return dict(error.data)
    return {"code": "ERR_RUNTIME", "message": str(error)}


def unknown(run_id: str) -> DurableError:
    return DurableError(
        f'there is no run "{run_id}"', code="ERR_DURABLE_UNKNOWN", hint='"runtime runs list" shows those that there are'
    )


def _wrong_state(info: RunInfo, done: str) -> DurableError:
    message = f'the run "{info.id}" has {info.state}, and cannot be {done}'
    return DurableError(
        message, code="ERR_DURABLE_STATE", hint=f'"runtime runs fork {info.id} --from STEP" does it anew'
    )
