"""Several things at once."""

import anyio
import pytest

from runtime.ai.concurrency import run_all

pytestmark = pytest.mark.anyio


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
    ended = []

    async def hang() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("hang")

    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise KeyError("x")

    with anyio.fail_after(5), pytest.raises(KeyError):
        await run_all([hang, fail, hang])

    assert ended == ["hang", "hang"]


async def test_whoever_is_cancelled_ends_what_it_runs_and_waits_for_it():
    ended = []

    async def hang() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                ended.append("hang")

    async def nest() -> None:
        await run_all([hang, hang])

    with anyio.fail_after(5):
        with anyio.move_on_after(0.01) as scope:
            await run_all([hang, nest])

    assert (ended, scope.cancelled_caught) == (["hang"] * 3, True)


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
