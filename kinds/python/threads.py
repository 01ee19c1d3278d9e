"""Calls of functions that block, each in a thread that does not hold up the end of the process."""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from threading import Thread
from typing import Any

Outcome = tuple[Any, BaseException | None]
"""A result, or the exception: some cannot be raised out of a thread, such as StopIteration."""


async def call_in_thread(function: Callable[[], Any]) -> Outcome:
    """What comes of a call. Who is cancelled does not wait for it, and the thread, which nothing can stop, is left to
    itself: unlike those of anyio's pool it does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Outcome] = loop.create_future()
    context = copy_context()

    def settle(outcome: Outcome) -> None:
        if not done.done():
            done.set_result(outcome)

    def work() -> None:
        outcome = context.run(_try, function)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, outcome)

    Thread(target=work, name=f"function {getattr(function, '__name__', '')}".strip(), daemon=True).start()
    return await done


def _try(function: Callable[[], Any]) -> Outcome:
    try:
        return function(), None
    except (Exception, SystemExit) as error:  # the border: whatever it is, it is the failure of this call
        return None, error
