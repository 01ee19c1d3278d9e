"""What begins by the clock begins once, and what is queued keeps to the rules of its queue."""

import signal
import socket
from pathlib import Path

import pytest
from command import LIMIT, run
from serving import serving

pytest.importorskip("dbos")

from durable.fleet import Fleet  # needs what the line above asks for

from runtime.durable.schedules import find_next, find_schedule_fault, name_run

pytestmark = pytest.mark.anyio
SQLITE = "sqlite:///runs.db"
TICK = """---
kind: Ai.Agent
metadata: { name: Asked }
model:
  kind: Ai.ScriptedModel
  rules:
    - when: { toolResult: noted }
      text: ${{ result }}
    - toolCalls: [{ name: note, arguments: { text: tick } }]
toolProviders: [{ provider: !ref Tools }]
---
kind: Ai.Task
metadata: { name: Tick }
agent: !ref Asked
prompt: tick
schedule: "* * * * * *"
durable: { store: !ref Runs }
"""
AT_SEVEN = 1_796_022_000.0
"""Monday, 2026-11-30 07:00:00 UTC."""


def ticking(folder: Path) -> Fleet:
    fleet = Fleet(folder, SQLITE)
    with (folder / "set.yaml").open("a", encoding="utf-8") as file:
        file.write(TICK)
    return fleet


def test_a_schedule_is_read_in_utc_with_seconds_where_it_has_six_fields() -> None:
    assert find_next("0 7 * * mon-fri", AT_SEVEN - 1) == AT_SEVEN
    assert find_next("0 7 * * mon-fri", AT_SEVEN) == AT_SEVEN + 86_400
    assert find_next("*/10 * * * * *", AT_SEVEN) == AT_SEVEN + 10
    assert name_run("Report", AT_SEVEN) == "Report-20261130T070000Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 7 * * mon-fri", None),
        ("0 7 * *", "a schedule has five fields, or six with the seconds first, and not 4"),
        ("0 25 * * *", '"0 25 * * *" is no cron expression, such as "0 7 * * mon-fri"'),
    ],
)
def test_a_text_that_is_no_schedule_is_told(text: str, expected: str | None) -> None:
    assert find_schedule_fault(text) == expected


async def test_of_two_workers_one_begins_the_run_of_each_time(tmp_path: Path) -> None:
    fleet = ticking(tmp_path)
    with fleet.worker() as one, fleet.worker() as other:
        fleet.wait_until(lambda: len(one.ended | other.ended) >= 3)
        codes = [fleet.end(worker, signal.SIGTERM) for worker in (one, other)]

    runs = [run for run in await fleet.list() if run.state == "finished"]
    assert codes == [0, 0]
    assert one.ended.keys() & other.ended.keys() == set()
    assert len({run.id for run in runs}) == len(runs) >= 3
    assert {run.target for run in runs} == {"Tick"}
    assert len([call for call in fleet.calls if call.attempt == 1]) >= len(runs)


def test_a_service_begins_runs_by_the_clock_as_well(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(LIMIT)
        fleet = ticking(tmp_path)
        text = (tmp_path / "set.yaml").read_text(encoding="utf-8")
        hold = f"name: hold, arguments: {{ port: {listener.getsockname()[1]}, text: tick }}"
        (tmp_path / "set.yaml").write_text(text.replace("name: note, arguments: { text: tick }", hold))
        with serving(tmp_path, "set.yaml") as served:
            connection, _ = listener.accept()
            targets = {each["target"] for each in served.client.get("/runs").json()["runs"]}
            connection.close()

    assert targets == {"Tick"}
    assert fleet.url == SQLITE


async def test_runs_of_a_queue_keep_to_its_concurrency_over_all_processes(tmp_path: Path, postgres_url: str) -> None:
    fleet = Fleet(tmp_path, postgres_url, ", queue: { concurrency: 1 }")
    with socket.create_server(("127.0.0.1", 0)) as listener, fleet.worker() as one, fleet.worker() as other:
        listener.settimeout(LIMIT)
        port = listener.getsockname()[1]
        await fleet.queue({name: f"hold {port} {name}" for name in ("a", "b", "c")})
        for _ in range(3):
            connection, _ = listener.accept()
            states = sorted(run.state for run in await fleet.list())
            assert states.count("running") == 1, states
            connection.close()
        fleet.wait_until(lambda: (one.ended | other.ended).keys() == {"a", "b", "c"})


async def test_runs_of_a_queue_begin_no_faster_than_its_rate(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, SQLITE, ", queue: { rate: 2, rateSeconds: 3600 }")
    await fleet.queue({name: f"note {name}" for name in ("a", "b", "c")})
    with fleet.worker() as worker:
        fleet.wait_until(lambda: len(worker.ended) == 2)
        assert fleet.end(worker, signal.SIGTERM) == 0

    assert sorted(run.state for run in await fleet.list()) == ["finished", "finished", "queued"]


@pytest.mark.parametrize(
    ("durable", "expected"),
    [
        (", queue: { concurrency: 2, concurrencyPerProcess: 3 }", "3 runs in each process are more than 2 in all"),
        (", queue: { rate: 0 }", "0"),
    ],
)
def test_rules_that_no_queue_can_keep_are_found_by_validate(durable: str, expected: str, tmp_path: Path) -> None:
    Fleet(tmp_path, SQLITE, durable)

    ended = run(tmp_path, "validate", "set.yaml")

    assert ended.code == 1
    assert "SCHEMA_VALUE" in ended.out + ended.err or "SCHEMA" in ended.out + ended.err
    assert expected in ended.out + ended.err


def test_a_schedule_needs_a_store(tmp_path: Path) -> None:
    ticking(tmp_path)
    text = (tmp_path / "set.yaml").read_text(encoding="utf-8")
    (tmp_path / "set.yaml").write_text(
        text.replace('schedule: "* * * * * *"\ndurable: { store: !ref Runs }\n', 'schedule: "0 7 * * *"\n')
    )

    ended = run(tmp_path, "validate", "set.yaml")

    assert ended.code == 1
    assert "a schedule needs `durable`: the store sees to it that one process begins each run" in ended.out + ended.err
