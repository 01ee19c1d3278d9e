"""Following a run: its events as they happen here, and its answer wherever it comes about."""

import asyncio
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Protocol

from dbos._error import DBOSAwaitedWorkflowCancelledError, DBOSException
from dbos._serialization import PortableWorkflowError

from runtime.durable.values import read_error
from runtime.errors import DurableError, Error

if TYPE_CHECKING:
    from dbos import WorkflowHandleAsync

POLL_SECONDS = 0.1
MOST_POLLS = 50
"""That all followers of a process make in a second, however many there are."""


class Stopping(Protocol):
    """What a follower needs of its store."""

    async def stop(self, run_id: str) -> bool:
        """Cancel the run; False where it is left to others."""

    async def find_end(self, run_id: str) -> DurableError:
        """Why a run that was cancelled was."""


class RunFollower:
    """Keeps the contract `Follower`. `context` has what whoever asked for the run knows, such as who approves."""

    def __init__(self, run_id: str, store: Stopping, context: Context) -> None:
        self.run_id = run_id
        self.context = context
        self._store = store
        self._events: asyncio.Queue[Any | None] = asyncio.Queue()
        self._end: asyncio.Task[Any] | None = None

    def tell(self, event: Any) -> None:
        self._events.put_nowait(event)

    def wait_for(self, handle: "WorkflowHandleAsync[Any]", waiting: "set[RunFollower]") -> None:
        """From here on the end of the run is waited for, and this follower is among those that are `waiting`."""
        waiting.add(self)
        seconds = max(POLL_SECONDS, len(waiting) / MOST_POLLS)
        self._end = asyncio.create_task(_await_end(handle, seconds), context=Context())
        self._end.add_done_callback(self._ended)
        self._end.add_done_callback(lambda _: waiting.discard(self))

    async def leave(self) -> None:
        """Wait no more; the store is closed."""
        if self._end is not None:
            self._end.cancel()
            await asyncio.wait([self._end])

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        if not task.cancelled():
            task.exception()  # it is asked for by `result`, or by nobody
        self._events.put_nowait(None)

    async def next_event(self) -> Any | None:
        event = await self._events.get()
        if event is None:
            self._events.put_nowait(None)
        return event

    async def result(self) -> Any:
        assert self._end is not None
        await asyncio.wait([self._end])
        if self._end.cancelled():
            message = f'the run "{self.run_id}" was interrupted here; another process that hosts its target goes on'
            raise DurableError(message, code="ERR_DURABLE_INTERRUPTED")
        error = self._end.exception()
        if error is None:
            return self._end.result()
        raise await self._translate(error) from error

    async def _translate(self, error: BaseException) -> BaseException:
        if isinstance(error, PortableWorkflowError) and isinstance(error.data, dict):
            return read_error(error.data)
        if isinstance(error, DBOSAwaitedWorkflowCancelledError):
            return await self._store.find_end(self.run_id)
        if isinstance(error, DBOSException):
            return DurableError(f'the run "{self.run_id}" came to no end: {error.message}', code="ERR_DURABLE_STORE")
        return error if isinstance(error, Error) else Error(f"{type(error).__name__}: {error}")

    async def cancel(self) -> None:
        if self._end is not None and self._end.done():  # it is over, or waits for somebody
            return
        is_stopped = await self._store.stop(self.run_id)
        if not is_stopped:
            await self.leave()
        elif self._end is not None:
            await asyncio.wait([self._end])


async def _await_end(handle: "WorkflowHandleAsync[Any]", seconds: float) -> Any:
    return await handle.get_result(polling_interval_sec=seconds)


def outside() -> Context:
    """What is known here but for DBOS's own: a run that is started within a step of another is no part of it."""
    fresh = Context()
    for variable, value in copy_context().items():
        if not variable.name.startswith("dbos"):
            fresh.run(variable.set, value)
    return fresh


def merge(context: Context, more: Context) -> None:
    """Put into `context` what only `more` has."""
    for variable, value in more.items():
        if variable not in context:
            context.run(variable.set, value)
