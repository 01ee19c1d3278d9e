"""Several things at once."""

from contextlib import aclosing
from typing import Any

import anyio
import pytest

from runtime.ai.concurrency import run_all, run_in_order

pytestmark = pytest.mark.anyio


class Hang:
    """A function that ends only by being cancelled, and then takes a moment; `ended` has a word for each time."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def __call__(self) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                self.ended.append("hang")


async def test_results_stand_in_the_order_of_the_functions():
    second_done = anyio.Event()

    async def first() -> int:
        await second_done.wait()
        return 1

    async def second() -> int:
        second_done.set()
        return 2

    with anyio.fail_after(5):
        assert await run_all([first, second]) == [1, 2]


async def test_nothing_to_run_gives_nothing():
    assert await run_all([]) == []


async def test_error_is_raised_bare_and_ends_the_others():
    hang = Hang()

    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise KeyError("x")

    with anyio.fail_after(5), pytest.raises(KeyError):
        await run_all([hang, fail, hang])

    assert hang.ended == ["hang", "hang"]


async def test_whoever_is_cancelled_ends_what_it_runs_and_waits_for_it():
    hang = Hang()

    async def nest() -> None:
        await run_all([hang, hang])

    with anyio.fail_after(5):
        with anyio.move_on_after(0.01) as scope:
            await run_all([hang, nest])

    assert (hang.ended, scope.cancelled_caught) == (["hang"] * 3, True)


async def test_time_limits_within_hold():
    async def wait() -> str:
        with anyio.move_on_after(0.01):
            await anyio.sleep_forever()
        return "over"

    with anyio.fail_after(5):
        assert await run_all([wait, wait]) == ["over", "over"]


async def test_limit_holds_and_every_function_runs():
    running = most = 0

    async def count() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        running -= 1

    await run_all([count] * 9, 2)

    assert (running, most) == (0, 2)


async def test_a_result_is_given_when_those_before_it_are_there():
    given, may_end = [], [anyio.Event(), anyio.Event()]

    async def wait(number: int) -> int:
        await may_end[number].wait()
        return number

    async def now() -> int:
        return 2

    with anyio.fail_after(5):
        async with aclosing(run_in_order([lambda: wait(0), lambda: wait(1), now])) as results:
            may_end[0].set()
            given.append(await anext(results))
            may_end[1].set()
            given += [each async for each in results]

    assert given == [0, 1, 2]


async def test_an_error_comes_in_the_place_of_the_results_that_are_not_there():
    async def now() -> int:
        return 1

    async def fail() -> int:
        await anyio.lowlevel.checkpoint()
        raise KeyError("x")

    given = []
    with anyio.fail_after(5), pytest.raises(KeyError):
        async with aclosing(run_in_order([now, fail, anyio.sleep_forever])) as results:
            async for each in results:
                given.append(each)

    assert given == [1]


async def test_closing_results_ends_what_runs():
    hang = Hang()

    async def now() -> int:
        return 1

    with anyio.fail_after(5):
        async with aclosing(run_in_order([now, hang, hang])) as results:
            assert await anext(results) == 1

    assert hang.ended == ["hang", "hang"]


async def test_whoever_waits_for_a_result_and_is_cancelled_ends_what_runs():
    hang = Hang()

    with anyio.fail_after(5):
        with anyio.move_on_after(0.01):
            async with aclosing(run_in_order([hang, hang])) as results:
                await anext(results)

    assert hang.ended == ["hang", "hang"]
