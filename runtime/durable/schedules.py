"""Runs that begin by the clock: of all processes that have a target up, one begins it, for each time once."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import anyio

from runtime.durable.contracts import Store
from runtime.errors import DurableError

LONGEST_WAIT = 3600.0
"""After which the clock is looked at again: it may have been set."""
LATE_SECONDS = 60.0
"""Times that were missed by more are left out: the process was stopped meanwhile, or there was none."""


class Scheduled(Protocol):
    """What begins by the clock; `schedule` is a cron expression in UTC."""

    name: str
    schedule: str
    store: Store


def find_schedule_fault(text: str) -> str | None:
    """Why a text is no schedule; None where it is one, and where that cannot be told for want of the extra."""
    if len(text.split()) not in (5, 6):
        return f"a schedule has five fields, or six with the seconds first, and not {len(text.split())}"
    try:
        from croniter import croniter  # type: ignore[import-untyped]  # ships no type information
    except ModuleNotFoundError:
        return None
    if not croniter.is_valid(text, second_at_beginning=True):
        return f'"{text}" is no cron expression, such as "0 7 * * mon-fri"'
    return None


def find_next(schedule: str, after: float) -> float:
    """The first time of a schedule after a time, both in seconds since 1970."""
    from croniter import croniter

    begin = datetime.fromtimestamp(after, UTC)
    return float(croniter(schedule, begin, second_at_beginning=True).get_next(datetime).timestamp())


def name_run(target: str, due: float) -> str:
    """The id of the run of a time: the same in every process, so that the store has it once."""
    return f"{target}-{datetime.fromtimestamp(due, UTC):%Y%m%dT%H%M%SZ}"


async def begin_by_clock(
    find: Callable[[], Sequence[Scheduled]], changed: Callable[[], Awaitable[None]], tell: Callable[[str], None]
) -> None:
    """Queue a run of each target at each of its times, until it is cancelled.

    `find` gives the targets, and is asked again once `changed` returns. What a store refuses is told, no more.
    """
    due: dict[str, float] = {}
    while True:
        now = time.time()
        targets = {target.name: target for target in find()}
        due = {name: due[name] if name in due else find_next(target.schedule, now) for name, target in targets.items()}
        wait = min([LONGEST_WAIT, *(each - now for each in due.values())])
        with anyio.move_on_after(max(wait, 0)) as waiting:
            await changed()
        if not waiting.cancelled_caught:
            due = {}
            continue
        await _begin_due(targets, due, tell)


async def _begin_due(targets: Mapping[str, Scheduled], due: dict[str, float], tell: Callable[[str], None]) -> None:
    """Queue what is due, and put the next time of each in its place."""
    now = time.time()
    for name, target in targets.items():
        at = due[name]
        if at > now:
            continue
        try:
            await _begin(target, name_run(name, at))
        except DurableError as error:
            tell(f"{name}: not begun: {error.message}")
        due[name] = find_next(target.schedule, max(at, now - LATE_SECONDS))


async def _begin(target: Scheduled, run_id: str) -> Any:
    try:
        await target.store.ledger.info(run_id)
    except DurableError as error:
        if error.code != "ERR_DURABLE_UNKNOWN":
            raise
        await target.store.start(target.name, {}, run_id=run_id, queued=True)
