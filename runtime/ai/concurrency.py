"""Running several things at once, with results in order and errors as they were raised."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import anyio

T = TypeVar("T")


async def run_all(functions: Sequence[Callable[[], Awaitable[T]]], limit: int | None = None) -> list[T]:
    """The results in the order of the functions, at most `limit` of which run at a time.

    The first error cancels the others and is raised bare, not in a group. A single function runs in the caller's task.
    """
    if len(functions) == 1:
        return [await functions[0]()]
    results: dict[int, T] = {}
    failures: list[Exception] = []
    waiting = iter(enumerate(functions))
    tasks: list[asyncio.Task[None]] = []

    async def work() -> None:
        try:
            for index, function in waiting:
                results[index] = await function()
        except Exception as error:  # a border: what a task raises is raised bare below
            failures.append(error)
            for task in tasks:
                task.cancel()

    async with asyncio.TaskGroup() as group:  # anyio's takes three times as long to start a task
        tasks += [group.create_task(work()) for _ in range(min(limit or len(functions), len(functions)))]
    if failures:
        raise failures[0]
    return [results[index] for index in range(len(functions))]


async def run_in_order(
    functions: Sequence[Callable[[], Awaitable[T]]], limit: int | None = None
) -> AsyncGenerator[T, None]:
    """As `run_all`, but each result is given as soon as it and those before it are there; closing ends what runs."""
    results: dict[int, T] = {}
    changed = asyncio.Event()

    async def note(index: int, function: Callable[[], Awaitable[T]]) -> None:
        results[index] = await function()
        changed.set()

    task = asyncio.ensure_future(run_all([partial(note, *each) for each in enumerate(functions)], limit))
    task.add_done_callback(lambda _: changed.set())
    try:
        for index in range(len(functions)):
            while index not in results and not task.done():
                changed.clear()
                await changed.wait()
            if index not in results:
                break
            yield results.pop(index)
        await task
    finally:
        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(task, return_exceptions=True)
