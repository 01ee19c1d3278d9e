"""What is opened for one run alone: once, by whoever asks first, and closed with it."""

from contextlib import asynccontextmanager

import anyio
import pytest

from runtime.runs import current_run, run_scope

pytestmark = pytest.mark.anyio


class Things:
    def __init__(self) -> None:
        self.log: list[str] = []

    @asynccontextmanager
    async def open(self):
        self.log.append("open")
        await anyio.lowlevel.checkpoint()
        yield object()
        self.log.append("close")


async def test_tasks_of_a_run_share_what_is_opened_for_it():
    things, got = Things(), []

    async def ask():
        got.append(await current_run().once("thing", things.open))

    async with run_scope():
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask)
        assert things.log == ["open"]

    assert things.log == ["open", "close"]
    assert len(set(got)) == 1


async def test_runs_at_the_same_time_have_their_own():
    things, got = Things(), []

    async def run():
        async with run_scope() as scope:
            got.append(await scope.once("thing", things.open))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        group.start_soon(run)

    assert len(set(got)) == 2
    assert sorted(things.log) == ["close", "close", "open", "open"]


async def test_a_run_inside_a_run_ends_before_it():
    assert current_run() is None
    async with run_scope() as outer:
        async with run_scope() as inner:
            assert current_run() is inner
        assert current_run() is outer
    assert current_run() is None
