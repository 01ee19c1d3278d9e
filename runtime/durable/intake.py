"""What a process takes up of queued runs: how many at a time, with what around them, and who is told of each."""

import asyncio
import copy
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, Literal

from msgspec import Struct

Outcome = Literal["finished", "failed", "waiting", "cancelled", "interrupted"]

_OUTCOMES: dict[str, Outcome] = {
    "ERR_DURABLE_CANCELLED": "cancelled",
    "ERR_DURABLE_UNCERTAIN": "waiting",
    "ERR_DURABLE_MANIFEST": "waiting",
    "ERR_DURABLE_TAKEN": "interrupted",
}


class CarriedRun(Struct, frozen=True):
    """A run that was carried on here, and how it is by now; `message` says why where it has not finished."""

    id: str
    target: str
    outcome: Outcome
    seconds: float
    message: str = ""


class Intake:
    """`most` queued runs are carried on here at a time, all targets together: 0 takes none, None as many as there are.

    With 0 the process still carries on what it was asked for, and what silent processes left behind.

    `tell` hears of each run that was carried on here. The context in which an intake is made is that of the runs which
    it takes up: who approves their calls, who traces them.
    """

    def __init__(self, most: int | None = None, tell: Callable[[CarriedRun], None] | None = None) -> None:
        self.context: Context = copy_context()
        self.takes_queued = most != 0
        self._most = most
        self._tell = tell
        self._taken: set[str] = set()
        self._claiming = threading.Lock()

    def close(self) -> None:
        """Take up no more."""
        self._most = 0

    def limit(self, database: Any, own_queue: str) -> None:
        """From here on DBOS's claims of queued runs through its `database` keep to what there is room for; those of
        `own_queue`, which this process alone takes, have no limit.

        Its own limits belong to one queue, and stand in the database, where the last process to set one sets it for
        all. A claim is made in a thread of its queue.
        """
        claim = database.start_queued_workflows

        def claim_limited(
            queue: Any, executor: str, version: str, key: Any, running: int = 0, *more: Any, **how: Any
        ) -> Any:
            if queue.name == own_queue:
                return claim(queue, executor, version, key, running, *more, **how)
            with self._claiming:
                if self._most is not None:
                    room = self._most - len(self._taken)
                    if room <= 0:
                        return [], "worker_concurrency"
                    queue = copy.copy(queue)
                    own = queue._worker_concurrency
                    queue._worker_concurrency = running + room if own is None else min(own, running + room)
                claimed, reason = claim(queue, executor, version, key, running, *more, **how)
                self._taken.update(claimed)
                return claimed, reason

        database.start_queued_workflows = claim_limited

    @contextmanager
    def carrying(self, run_id: str, target: str) -> Iterator[None]:
        """While the block runs, so does the run. It is told of when this task is done: by then its end is recorded."""
        started = time.monotonic()
        outcome: Outcome = "interrupted"
        message = ""
        try:
            yield
            outcome = "finished"
        except asyncio.CancelledError:
            raise
        except Exception as error:  # whatever ends the run: it is told and goes on
            outcome = _OUTCOMES.get(getattr(error, "code", None) or "", "failed")
            message = getattr(error, "message", None) or str(error)
            raise
        finally:
            self._taken.discard(run_id)
            task = asyncio.current_task()
            if self._tell is not None and task is not None:
                carried = CarriedRun(run_id, target, outcome, time.monotonic() - started, message)
                tell = self._tell
                task.add_done_callback(lambda _: tell(carried))


_INTAKE: ContextVar[Intake | None] = ContextVar("intake", default=None)


@contextmanager
def taking_up(intake: Intake) -> Iterator[None]:
    """A store that is opened within the block takes up queued runs by these rules."""
    token = _INTAKE.set(intake)
    try:
        yield
    finally:
        _INTAKE.reset(token)


def find_intake() -> Intake:
    """The rules of this context; without any, as many runs as there are, of which nobody is told."""
    return _INTAKE.get() or Intake()
