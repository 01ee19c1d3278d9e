"""A store that keeps nothing: for replays and test cases, whose runs are nobody's to go on with.

They would take over what a real process left behind, and end it with answers that are played.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

from runtime.durable.contracts import Decision, Ledger, Target, Wait
from runtime.errors import DurableError

_FORGETS: ContextVar[bool] = ContextVar("forgets", default=False)


@contextmanager
def forgetting() -> Iterator[None]:
    """A store that is opened within the block keeps nothing, and takes over nothing."""
    token = _FORGETS.set(True)
    try:
        yield
    finally:
        _FORGETS.reset(token)


def is_forgetting() -> bool:
    return _FORGETS.get()


class MemoryStore:
    """Keeps the contract `Store` for as long as its runs are under way."""

    def __init__(self) -> None:
        self._hosted: dict[str, Target] = {}

    @property
    def ledger(self) -> Ledger:
        raise DurableError("nothing is kept in a replay or a test", code="ERR_DURABLE_STORE")

    @contextmanager
    def host(self, target: Target) -> Iterator[None]:
        self._hosted[target.name] = target
        try:
            yield
        finally:
            del self._hosted[target.name]

    async def start(
        self,
        target: str,
        inputs: Mapping[str, Any] | None,
        *,
        run_id: str | None = None,
        queued: bool = False,
        priority: int | None = None,
    ) -> "MemoryRun":
        return MemoryRun(self._hosted[target], inputs or {}, run_id or uuid4().hex)

    def release(self) -> None:
        """Nothing is left to others."""

    async def drain(self) -> None:
        """Nothing of others is taken up."""


class MemoryRun:
    """Keeps the contracts `Follower` and `Journal`."""

    def __init__(self, target: Target, inputs: Mapping[str, Any], run_id: str) -> None:
        self.run_id = run_id
        self.attempt = uuid4().hex
        self._last = 0
        self._events: asyncio.Queue[Any | None] = asyncio.Queue()
        self._work = asyncio.create_task(_await(target.work(inputs, self)))
        self._work.add_done_callback(lambda _: self._events.put_nowait(None))

    def reserve(self, name: str) -> "MemorySlot":
        self._last += 1
        return MemorySlot(self._last)

    async def decide(self, question: Wait, ask: Callable[[], Awaitable[Decision | None]]) -> Decision:
        return "fail"  # no run is taken up twice, so nothing is uncertain

    def tell(self, event: Any) -> None:
        self._events.put_nowait(event)

    async def next_event(self) -> Any | None:
        return await self._events.get()

    async def result(self) -> Any:
        return await self._work

    async def leave(self) -> None:
        """Nobody else goes on with it."""
        await self.cancel()

    async def cancel(self) -> None:
        self._work.cancel()
        with suppress(asyncio.CancelledError, Exception):  # `result` gives it to whoever asks
            await asyncio.shield(self._work)


class MemorySlot:
    """Keeps the contract `Slot`."""

    is_recorded = False

    def __init__(self, number: int) -> None:
        self.number = number

    async def run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        return await work()


async def _await(work: Awaitable[Any]) -> Any:
    return await work
