"""How many runs there are at once, and how many wait: whoever comes after those is turned away."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from runtime.errors import Error

RETRY_AFTER = 1
"""Seconds after which somebody who was turned away may ask again."""


class Busy(Error):
    """The service takes no further run now; `status` is the one of HTTP."""

    code = "ERR_SERVE_BUSY"
    status = 429


class Draining(Busy):
    """The service ends: it finishes what runs and begins nothing."""

    code = "ERR_SERVE_DRAINING"
    status = 503


class Admission:
    """Places for runs; `running` and `waiting` tell how many are taken."""

    def __init__(self, max_runs: int, max_queue: int) -> None:
        self._most = max_runs + max_queue
        self._places = anyio.CapacityLimiter(max_runs)
        self._admitted = 0
        self._is_closed = False

    @property
    def running(self) -> int:
        return int(self._places.borrowed_tokens)

    @property
    def waiting(self) -> int:
        return self._admitted - self.running

    def close(self) -> None:
        """Nobody else is admitted."""
        self._is_closed = True

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def check_open(self) -> None:
        """Raises Draining."""
        if self._is_closed:
            raise Draining("the service is shutting down")

    def admit(self) -> None:
        """Take a place in the queue, which `place` gives back; raises Busy, Draining."""
        self.check_open()
        if self._admitted >= self._most:
            raise Busy(f"{self._admitted} runs are under way or wait, which is the limit", hint="ask again later")
        self._admitted += 1

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """For the run that was admitted: wait until it may begin, and hold its place until it ends."""
        holder = object()
        try:
            await self._places.acquire_on_behalf_of(holder)
            try:
                yield
            finally:
                self._places.release_on_behalf_of(holder)
        finally:
            self._admitted -= 1
