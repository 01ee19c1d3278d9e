"""The benchmark of kept steps has its figures, and the simulation is arithmetic that can be told beforehand."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from command import environment

pytest.importorskip("dbos")

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


def figures(folder: Path, script: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *arguments, "--output", "json"],
        env=environment(folder, TMPDIR=tempfile.gettempdir()),  # the server's account cannot enter the test's own
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_benchmark_has_figures_of_each_database(tmp_path: Path) -> None:
    found = figures(tmp_path, "durable", "--turns", "2", "--rounds", "1", "--runs", "2")

    assert {"SQLite"} <= found.keys() <= {"SQLite", "PostgreSQL"}
    for of in found.values():
        assert of["steps"] == 6  # the tools, three turns, two calls
        assert min(of["bareMs"], of["plainMs"], of["throughput"]["stepsPerSecond"]) > 0
        assert of["throughput"]["stepsPerRun"] == 6


def test_a_database_that_is_fast_enough_holds_no_run_up(tmp_path: Path) -> None:
    found = figures(tmp_path, "scale_sim.py", "--runs", "700", "--steps-per-second", "100000", "--per-worker", "100")

    assert (found["stepsPerSecondWanted"], found["workers"], found["connections"]) == (300, 7, 70)
    assert abs(found["slowerBy"]) < 0.05
    assert found["databaseBusy"] < 0.01


def test_a_database_that_is_too_slow_does_what_it_can_and_runs_wait(tmp_path: Path) -> None:
    found = figures(tmp_path, "scale_sim.py", "--runs", "700", "--steps-per-second", "150")

    assert (found["stepsPerSecond"], found["databaseBusy"]) == (150, 1.0)
    assert 0.9 < found["slowerBy"] < 1.1
