"""Workers: what is queued is shared by those that live, and carried on once, whoever dies meanwhile."""

import os
import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from command import left_behind

pytest.importorskip("dbos")

from durable.fleet import Fleet  # needs what the line above asks for

pytestmark = pytest.mark.anyio
RUNS = int(os.environ.get("RUNTIME_TEST_RUNS", "60"))
"""Of the test with a server; 300 by what is promised, which takes its time."""
SQLITE = "sqlite:///runs.db"


async def share_and_kill(fleet: Fleet, number: int) -> list[int]:
    """Three workers, of which one is killed after a tenth of the runs; how many runs each of the others ended."""
    ids = {f"run-{place}" for place in range(number)}
    with ExitStack() as stack:
        lost, *living = (stack.enter_context(fleet.worker("--concurrency", "4")) for _ in range(3))
        await fleet.queue({id: f"note {id}" for id in ids})
        fleet.wait_until(lambda: len(lost.ended) >= number // 10)
        fleet.end(lost, signal.SIGKILL)
        done = {run.id for run in await fleet.list() if run.state == "finished" and lost.has_carried(run)}
        fleet.wait_until(lambda: ids - done <= {id for worker in living for id in worker.ended})

        runs = await fleet.list()
        assert {run.id: run.state for run in runs} == dict.fromkeys(ids, "finished")
        assert sorted(call.text for call in fleet.calls if call.attempt == 1) == sorted(ids)
        taken_over = {run.id for run in runs if run.attempts > 1}
        assert {call.text for call in fleet.calls if call.attempt > 1} <= taken_over
        assert len(taken_over) <= 4
        assert [fleet.end(worker, signal.SIGTERM) for worker in living] == [0, 0]
        assert left_behind(fleet.folder) == []
        return [sum(worker.has_carried(run) for run in runs) for worker in living]


async def test_workers_share_the_runs_of_a_server_and_finish_those_of_one_that_is_killed(
    tmp_path: Path, postgres_url: str
) -> None:
    shares = await share_and_kill(Fleet(tmp_path, postgres_url), RUNS)

    # Of few runs, on a machine with other things to do, one may well get a few more.
    least = 0.4 if RUNS >= 300 else 0.2
    assert min(shares) >= least * sum(shares), shares


async def test_workers_of_one_machine_share_a_file(tmp_path: Path) -> None:
    shares = await share_and_kill(Fleet(tmp_path, SQLITE), 20)

    assert min(shares) > 0


async def test_a_worker_that_is_ended_finishes_what_runs_and_leaves_what_is_queued(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, SQLITE)
    with socket.create_server(("127.0.0.1", 0)) as listener, fleet.worker("--concurrency", "1") as worker:
        listener.settimeout(60)
        port = listener.getsockname()[1]
        await fleet.queue({"held": f"hold {port} held", "later": "note later"}, {"held": 1, "later": 2})
        connection, _ = listener.accept()
        worker.process.send_signal(signal.SIGTERM)
        fleet.wait_until(lambda: worker.has_said("draining"))
        connection.close()
        fleet.wait_until(lambda: worker.is_silent)

        assert worker.process.wait() == 0
        assert worker.ended == {"held": "finished"}
        assert {run.id: run.state for run in await fleet.list()} == {"held": "finished", "later": "queued"}
        assert left_behind(tmp_path) == []


async def test_a_second_signal_ends_a_worker_at_once_and_another_goes_on(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, SQLITE)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        with fleet.worker() as worker:
            await fleet.queue({"held": f"hold {listener.getsockname()[1]} held"})
            connection, _ = listener.accept()
            worker.process.send_signal(signal.SIGTERM)
            fleet.wait_until(lambda: worker.has_said("draining"))

            assert fleet.end(worker, signal.SIGINT) == 130
            assert worker.ended == {"held": "interrupted"}
            assert [run.state for run in await fleet.list()] == ["interrupted"]
            assert left_behind(tmp_path) == []
            connection.close()
        with fleet.worker() as other:
            connection, _ = listener.accept()
            connection.close()
            fleet.wait_until(lambda: other.ended == {"held": "finished"})


async def test_what_is_left_when_the_time_to_drain_is_over_is_interrupted(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, SQLITE)
    with socket.create_server(("127.0.0.1", 0)) as listener, fleet.worker("--drain-seconds", "0") as worker:
        listener.settimeout(60)
        await fleet.queue({"held": f"hold {listener.getsockname()[1]} held"})
        connection, _ = listener.accept()

        assert fleet.end(worker, signal.SIGTERM) == 0
        assert worker.ended == {"held": "interrupted"}
        connection.close()


async def test_a_run_of_a_lower_number_goes_first(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, SQLITE)
    await fleet.queue(
        {"third": "note third", "first": "note first", "second": "note second"}, {"first": 1, "second": 5, "third": 9}
    )

    with fleet.worker("--concurrency", "1") as worker:
        fleet.wait_until(lambda: len(worker.ended) == 3)

    assert [call.text for call in fleet.calls] == ["first", "second", "third"]
