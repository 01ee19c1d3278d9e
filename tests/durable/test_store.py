"""The store in one process: what it keeps and how, what becomes of runs that are cancelled, interrupted, forgotten."""

import json
import logging
import sqlite3
import stat
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from runtime.durable.contracts import Journal, Target, Wait
from runtime.errors import AgentError, DurableError, Error, ModelError

pytest.importorskip("dbos")
from runtime.durable.engine import DbosStore, open_store
from runtime.durable.ledger import open_ledger
from runtime.durable.watch import StoreRules

pytestmark = pytest.mark.anyio
Work = Callable[[Mapping[str, Any], Journal], Awaitable[Any]]
FILE = "sqlite:///.runtime/runs.db"


def opened(folder: Path, **more: Any) -> Any:
    rules = StoreRules(FILE, more.pop("takeover", 60.0), more.pop("keep", None))
    return open_store(rules, str(folder), more.pop("mask", str), more.pop("log", lambda line: None))


def target(work: Work, digest: str = "one", *, continues: bool = False) -> Target:
    return Target(name="Asker", digest=digest, work=work, continues=continues)


async def steps(inputs: Mapping[str, Any], journal: Journal) -> Any:
    """As many steps as the inputs say; each gives what stands at its place."""

    def give(value: Any) -> Callable[[], Awaitable[Any]]:
        async def work() -> Any:
            return value

        return work

    return [await journal.reserve(f"step {place}").run(give(value)) for place, value in enumerate(inputs["values"])]


def read(folder: Path, query: str) -> list[Any]:
    with sqlite3.connect(folder / ".runtime/runs.db") as connection:
        return connection.execute(query).fetchall()


async def run_once(store: DbosStore, work: Work, inputs: Mapping[str, Any], run_id: str = "run") -> Any:
    with store.host(target(work)):
        return await (await store.start("Asker", inputs, run_id=run_id)).result()


async def test_a_run_gives_its_answer_and_is_kept_with_its_steps(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        assert await run_once(store, steps, {"values": ["a", {"b": [1, None]}]}) == ["a", {"b": [1, None]}]
        details = await store.ledger.show("run")

    assert (details.info.state, details.info.target, details.info.digest) == ("finished", "Asker", "one")
    assert (details.inputs, details.result) == ({"values": ["a", {"b": [1, None]}]}, ["a", {"b": [1, None]}])
    assert [(step.number, step.name, step.output) for step in details.steps] == [
        (1, "step 0", "a"),
        (2, "step 1", {"b": [1, None]}),
    ]


async def test_the_same_id_gives_the_same_answer_and_runs_nothing_again(tmp_path: Path) -> None:
    ran = []

    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        ran.append(inputs)
        return {"text": "done"}

    async with opened(tmp_path) as store:
        answers = [await run_once(store, work, {"prompt": "hi"}) for _ in range(2)]

    assert (answers, len(ran)) == ([{"text": "done"}] * 2, 1)


async def test_an_error_is_kept_and_raised_as_it_was(tmp_path: Path) -> None:
    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        raise ModelError("no tokens", code="ERR_MODEL_LIMIT", resource="Gpt", hint="wait", details={"seconds": 3})

    async with opened(tmp_path) as store:
        for _ in range(2):  # as it happens, and from the store
            with pytest.raises(ModelError) as raised:
                await run_once(store, work, {})
            error = raised.value
            assert (error.code, error.message, error.resource, error.hint, error.details) == (
                "ERR_MODEL_LIMIT",
                "no tokens",
                "Gpt",
                "wait",
                {"seconds": 3},
            )
        assert (await store.ledger.info("run")).state == "failed"


async def test_a_failed_run_that_is_resumed_does_its_last_step_again(tmp_path: Path) -> None:
    answers = iter(["refused", "given"])

    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        async def ask() -> Any:
            return next(answers)

        async def prepare() -> Any:
            return "ready"

        await journal.reserve("prepare").run(prepare)
        answer = await journal.reserve("ask").run(ask)
        if answer == "refused":
            raise AgentError("refused")
        return answer

    async with opened(tmp_path) as store:
        with pytest.raises(AgentError):
            await run_once(store, work, {})
        with store.host(target(work)):
            await store.ledger.resume("run")
            assert await (await store.start("Asker", None, run_id="run")).result() == "given"


async def test_the_file_and_its_folder_are_for_the_user_alone_and_written_ahead(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await run_once(store, steps, {"values": [1]})
        assert stat.S_IMODE((tmp_path / ".runtime").stat().st_mode) == 0o700
        kept = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / ".runtime").iterdir()}

    assert set(kept) == {"runs.db", "runs.db-wal", "runs.db-shm"}
    assert set(kept.values()) == {0o600}
    assert read(tmp_path, "PRAGMA journal_mode") == [("wal",)]


async def test_what_is_kept_is_plain_json(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await run_once(store, steps, {"values": ["a\ud800b\0", 2**60, 1.5]})

    rows = read(tmp_path, "SELECT serialization, output FROM operation_outputs ORDER BY function_id")
    assert {name for name, _ in rows} == {"portable_json"}
    assert [json.loads(output) for _, output in rows] == ["a\ufffdb\0", 2**60, 1.5]
    assert read(tmp_path, "SELECT serialization FROM workflow_status") == [("portable_json",)]


async def test_no_secret_is_kept(tmp_path: Path) -> None:
    def mask(text: str) -> str:
        return text.replace("hunter2", "***")

    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        async def tell() -> Any:
            return {"password": "hunter2", "hunter2": 1}

        told = await journal.reserve("tell").run(tell)
        assert told == {"password": "hunter2", "hunter2": 1}  # it is missing in what is kept alone
        raise Error("hunter2 is wrong", hint="not hunter2", details={"found": "hunter2"})

    async with opened(tmp_path, mask=mask) as store:
        with pytest.raises(Error):
            await run_once(store, work, {})
        with pytest.raises(DurableError) as raised:
            await run_once(store, work, {"prompt": "my password is hunter2"}, "other")
        details = await store.ledger.show("run")

    assert raised.value.code == "ERR_DURABLE_SECRET"
    assert details.steps[0].output == {"password": "***", "***": 1, "isMasked": True}
    for file in (tmp_path / ".runtime").iterdir():
        assert b"hunter2" not in file.read_bytes()


async def test_runs_are_forgotten_after_a_while_with_all_that_they_held(tmp_path: Path) -> None:
    async def wait(inputs: Mapping[str, Any], journal: Journal) -> Any:
        async def nobody() -> None:
            return None

        await journal.decide(Wait("ERR_DURABLE_UNCERTAIN", "who knows", 1, "send"), nobody)

    async with opened(tmp_path) as store:
        await run_once(store, steps, {"values": ["heron"]})
        with pytest.raises(DurableError):
            await run_once(store, wait, {}, "waiting")
        assert await store.ledger.prune(3600) == 0
        assert await store.ledger.prune(-3600) == 1
        assert [info.id for info in await store.ledger.list()] == ["waiting"]
        for table in ("operation_outputs", "workflow_output"):
            assert read(tmp_path, f"SELECT * FROM {table}") == []


async def test_an_open_store_forgets_by_itself(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await run_once(store, steps, {"values": [1]})
    async with opened(tmp_path, keep=0.001) as store:
        await anyio.sleep(0.01)
        await run_once(store, steps, {"values": [1]}, "next")
        assert [info.id for info in await store.ledger.list()] == ["next"]


async def test_a_run_that_is_cancelled_stops_at_once_and_stays_so(tmp_path: Path) -> None:
    begun, stopped = anyio.Event(), anyio.Event()

    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        async def hang() -> Any:
            begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                stopped.set()

        await journal.reserve("hang").run(hang)

    async with opened(tmp_path) as store:
        with store.host(target(work)), anyio.fail_after(20):
            follower = await store.start("Asker", {}, run_id="run")
            await begun.wait()
            await store.ledger.cancel("run")  # as another process does it
            with pytest.raises(DurableError) as raised:
                await follower.result()
            await stopped.wait()
        assert raised.value.code == "ERR_DURABLE_CANCELLED"
    async with opened(tmp_path) as store:
        with store.host(target(work)):
            await store.start("Asker", {}, run_id="other", queued=True)
            await anyio.sleep(0.3)
            assert (await store.ledger.info("run")).state == "cancelled"


async def interrupt(folder: Path, store_work: Work, count: int) -> list[int]:
    """Begin a run of so many steps, and let the store go down in the last one; the steps that were begun."""
    begun: list[int] = []
    last = anyio.Event()

    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        for place in range(count):

            async def step(place: int = place) -> Any:
                begun.append(place)
                if place == count - 1:
                    last.set()
                    await anyio.sleep_forever()
                return place

            await journal.reserve(f"step {place}").run(step)

    async with opened(folder) as store:
        with store.host(target(work)):
            await store.start("Asker", {"values": list(range(count + 1))}, run_id="run")
            with anyio.fail_after(30):
                await last.wait()
    return begun


async def test_a_run_that_is_interrupted_is_taken_up_by_the_next_store(tmp_path: Path) -> None:
    assert await interrupt(tmp_path, steps, 3) == [0, 1, 2]
    ledger = await open_ledger(FILE, str(tmp_path))
    assert (await ledger.info("run")).state == "interrupted"
    await ledger.close()
    done: list[bool] = []
    found = anyio.Event()

    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        slots = [journal.reserve(f"step {place}") for place in range(3)]
        done.extend(slot.is_recorded for slot in slots)

        async def last() -> Any:
            found.set()
            return "done anew"

        async def never() -> Any:
            raise AssertionError("it is recorded")

        return [await slots[0].run(never), await slots[1].run(never), await slots[2].run(last)]

    async with opened(tmp_path) as store:
        with store.host(target(work)), anyio.fail_after(30):
            await found.wait()  # nobody asks for it
            assert await (await store.start("Asker", None, run_id="run")).result() == [0, 1, "done anew"]
    assert done == [True, True, False]


async def test_steps_of_another_name_end_the_run_and_say_so(tmp_path: Path) -> None:
    await interrupt(tmp_path, steps, 3)

    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        async def nothing() -> Any:
            return 1

        return await journal.reserve("another").run(nothing)

    async with opened(tmp_path) as store:
        with store.host(target(work)), pytest.raises(DurableError) as raised:
            await (await store.start("Asker", None, run_id="run")).result()

    assert raised.value.code == "ERR_DURABLE_STEPS"
    assert raised.value.message == 'step 1 of the run "run" was recorded as "step 0", and is "another" now'


async def test_steps_of_one_moment_have_the_places_that_were_taken(tmp_path: Path) -> None:
    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        slots = [journal.reserve(f"step {place}") for place in range(3)]
        ended = [anyio.Event() for _ in range(4)]
        ended[3].set()

        async def run(place: int) -> None:
            async def step() -> Any:
                await ended[place + 1].wait()
                return place

            await slots[place].run(step)
            ended[place].set()

        async with anyio.create_task_group() as group:
            for place in range(3):
                group.start_soon(run, place)

    async with opened(tmp_path) as store:
        await run_once(store, work, {})
        kept = (await store.ledger.show("run")).steps

    assert [(step.number, step.name, step.output) for step in kept] == [(n + 1, f"step {n}", n) for n in range(3)]


async def test_under_another_manifest_a_run_waits_unless_it_may_continue(tmp_path: Path) -> None:
    await interrupt(tmp_path, steps, 2)
    async with opened(tmp_path) as store:
        with store.host(target(steps, "two")):
            with pytest.raises(DurableError) as raised:
                await store.start("Asker", None, run_id="run")
            info = await store.ledger.info("run")
    assert raised.value.code == "ERR_DURABLE_MANIFEST"
    assert (info.state, info.wait and info.wait.code) == ("waiting", "ERR_DURABLE_MANIFEST")
    assert info.wait is not None and info.wait.message == (
        'it began under another manifest of "Asker" than those that are up'
    )

    async with opened(tmp_path) as store:
        with store.host(target(steps, "two", continues=True)), anyio.fail_after(30):
            assert await (await store.start("Asker", None, run_id="run")).result() == [0, 1, 2]


async def test_a_fork_keeps_the_steps_before_its_own(tmp_path: Path) -> None:
    count = iter(range(100))

    async def work(inputs: Mapping[str, Any], journal: Journal) -> Any:
        async def tick() -> Any:
            return next(count)

        return [await journal.reserve("tick").run(tick) for _ in range(3)]

    async with opened(tmp_path) as store:
        with store.host(target(work)), anyio.fail_after(30):
            assert await (await store.start("Asker", {}, run_id="run")).result() == [0, 1, 2]
            assert await store.ledger.fork("run", 2, new_id="fork") == "fork"
            assert await (await store.start("Asker", None, run_id="fork")).result() == [0, 3, 4]
            assert (await store.ledger.info("fork")).forked_from == "run"
            with pytest.raises(DurableError) as raised:
                await store.ledger.fork("run", 7)
    assert (raised.value.code, raised.value.details) == ("ERR_DURABLE_STEP", {"steps": [1, 2, 3]})


async def test_what_is_not_there_or_another_targets_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await run_once(store, steps, {"values": [1]})
        with store.host(Target(name="Other", digest="one", work=steps)):
            for wanted, code in (("run", "ERR_DURABLE_STATE"), ("none", "ERR_DURABLE_UNKNOWN")):
                with pytest.raises(DurableError) as raised:
                    await store.start("Other", None, run_id=wanted)
                assert raised.value.code == code
        with pytest.raises(DurableError) as raised:
            await store.ledger.resume("run")
        assert raised.value.code == "ERR_DURABLE_STATE"


async def test_a_process_has_one_store(tmp_path: Path) -> None:
    async with opened(tmp_path):
        with pytest.raises(DurableError) as raised:
            async with opened(tmp_path):
                pass
    assert raised.value.message == "another store is at work in this process, and a process can have one"


async def test_a_store_that_cannot_be_reached_says_so(tmp_path: Path) -> None:
    (tmp_path / ".runtime").write_text("a file")
    for url, words in (
        (FILE, "cannot be made"),
        ("postgresql://127.0.0.1:1/runs?connect_timeout=2", "does not answer"),
    ):
        with pytest.raises(DurableError) as raised:
            await open_ledger(url, str(tmp_path))
        assert (raised.value.code, words in raised.value.message) == ("ERR_DURABLE_STORE", True)


async def test_a_long_run_is_taken_up_in_no_time(tmp_path: Path) -> None:
    await interrupt(tmp_path, steps, 300)
    async with opened(tmp_path) as store:
        with store.host(target(steps)), anyio.fail_after(30):
            assert await (await store.start("Asker", None, run_id="run")).result() == list(range(301))


async def test_the_engine_keeps_quiet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    async with opened(tmp_path, log=lines.append) as store:
        await run_once(store, steps, {"values": [1]})
        logging.getLogger("dbos").info("To view and manage workflows, connect to the console")
        logging.getLogger("dbos").warning("the database\nis slow")

    assert capfd.readouterr() == ("", "")
    assert lines == ["the database is slow"]


async def test_other_work_of_the_loop_goes_on_when_the_store_is_closed(tmp_path: Path) -> None:
    import asyncio

    async with opened(tmp_path) as store:
        await run_once(store, steps, {"values": [1]})

    assert await asyncio.to_thread(len, "thread") == 6
