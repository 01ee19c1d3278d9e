"""A run of an agent as a place: what is opened for one run alone is closed with it."""

from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any

import anyio

_CURRENT: ContextVar["RunScope | None"] = ContextVar("run", default=None)
_JOURNAL: ContextVar[Any] = ContextVar("journal", default=None)
_CALL_KEY: ContextVar[str] = ContextVar("call-key", default="")


class RunScope:
    """The things of one run. They may be entered in one task and left in another."""

    def __init__(self) -> None:
        self._opened: dict[Hashable, Any] = {}
        self._stack = AsyncExitStack()
        self._opening = anyio.Lock()

    async def once(self, key: Hashable, open: Callable[[], AbstractAsyncContextManager[Any]]) -> Any:
        """What `key` stands for in this run: opened by the first who asks, closed when the run ends."""
        async with self._opening:
            if key not in self._opened:
                self._opened[key] = await self._stack.enter_async_context(open())
        return self._opened[key]

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._stack.aclose()


def current_run() -> RunScope | None:
    """The run that this task works for; None outside of runs."""
    return _CURRENT.get()


@asynccontextmanager
async def run_scope() -> AsyncIterator[RunScope]:
    """While the block runs, it and the tasks that it starts work for a run of their own."""
    outer, scope = _CURRENT.get(), RunScope()
    _CURRENT.set(scope)
    try:
        yield scope
    finally:
        _CURRENT.set(outer)
        await scope.close()


def find_journal() -> Any:
    """The record of the run that this task carries on, a `runtime.ai.journal.RunJournal`; None where no run is kept,
    and inside of a step of one that is."""
    return _JOURNAL.get()


@contextmanager
def journaling(journal: Any) -> Iterator[None]:
    """While the block runs, a run that begins there is a part of this record, and with None of none."""
    token = _JOURNAL.set(journal)
    try:
        yield
    finally:
        _JOURNAL.reset(token)


def call_key() -> str:
    """What tells the tool call for which this task works from every other, and is the same when it is made again;
    empty where no run is kept."""
    return _CALL_KEY.get()


@contextmanager
def keyed_call(key: str) -> Iterator[None]:
    """While the block runs, it makes the call of this key: that of a run, and the number of a step."""
    token = _CALL_KEY.set(key)
    try:
        yield
    finally:
        _CALL_KEY.reset(token)
