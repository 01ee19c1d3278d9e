"""When something is tried again, after which pause, and when no more. A call that may have run never is."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from runtime.errors import McpError
from runtime.mcp.connection import Connection, copy_error

T = TypeVar("T")

BUSY_STATUSES = (429, 502, 503, 504)  # a step of the start is tried again after these
START_TRIES = 6
START_PAUSE = 0.25  # seconds, doubled each time
REFUSED_PAUSE = 1.0  # seconds before the repeat of a call that was refused without a word on when
RESTARTS_LIMIT = 5  # in a row, of connections that lived shorter than STEADY seconds
STEADY = 60.0
RESTART_PAUSE, LONGEST_RESTART_PAUSE = 0.5, 30.0


async def persist(connection: Connection, deadline: float, attempt: Callable[[], Awaitable[T]]) -> T:
    """Take a step of the start, again after growing pauses while the server says that it is busy."""
    pause = START_PAUSE
    for _ in range(START_TRIES - 1):
        try:
            return await attempt()
        except McpError as error:
            asked = error.details.get("retryAfterMs")
            seconds = pause if asked is None else asked / 1000
            if error.details.get("status") not in BUSY_STATUSES or connection.now() + seconds >= deadline:
                raise
            await asyncio.sleep(seconds)
            pause *= 2
    return await attempt()


def find_pause(error: McpError) -> float | None:
    """Seconds before a request may be repeated that was refused before it ran; None where it may have run."""
    status, asked = error.details.get("status"), error.details.get("retryAfterMs")
    if status == 429 or (status == 503 and asked is not None):
        return REFUSED_PAUSE if asked is None else float(asked) / 1000
    return None


class Restarts:
    """Counts the connections that were opened in place of lost ones."""

    def __init__(self) -> None:
        self._opened_at = 0.0
        self._count = 0

    def note_opening(self) -> None:
        self._opened_at = time.monotonic()

    async def pause(self, failure: McpError) -> None:
        """Wait before another one, longer each time; raises `failure` when that happened too often in a row."""
        if time.monotonic() - self._opened_at > STEADY:
            self._count = 0
        if self._count >= RESTARTS_LIMIT:
            error = copy_error(failure)
            error.hint = f"the connection was lost {RESTARTS_LIMIT} times in a row; it is tried again after a minute"
            raise error
        if self._count:
            await asyncio.sleep(min(RESTART_PAUSE * 2 ** (self._count - 1), LONGEST_RESTART_PAUSE))
        self._count += 1
