"""The benchmarks measure what they say: manifests without findings, and figures of every command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import environment, run

BENCHMARK = Path(__file__).parent.parent / "benchmarks/command.py"
AGENT = BENCHMARK.with_name("agent")


@pytest.mark.parametrize("count", [5, 6, 40])
def test_the_manifests_of_the_benchmark_have_as_many_documents_as_asked_for(count: int, tmp_path: Path) -> None:
    program = f"import command; print(command.make_manifest({count}), end='')"
    made = subprocess.run(
        [sys.executable, "-c", program], cwd=BENCHMARK.parent, capture_output=True, text=True, check=True
    )
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(made.stdout)

    ended = run(tmp_path, "validate", str(manifest))

    assert ended == (0, f"{count} documents: 0 errors, 0 warnings\n", "")


def test_the_benchmark_has_a_figure_for_every_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--rounds", "1", "--output", "json"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    cases = json.loads(done.stdout)["cases"]
    assert [case["name"] for case in cases] == [
        "python -c pass",
        "runtime --help",
        "validate, 5 documents",
        "validate, 1000 documents",
        "validate, 5000 documents",
    ]
    assert all(case["cpuMs"] > 0 for case in cases)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the CPU clock of other processes, as only Linux gives it")
def test_the_agent_s_benchmark_measures_processes_and_jobs_of_both_systems(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(AGENT), "--rounds", "1", "--only", "cold", "call", "http", "conc", "--output", "json"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["name"] for row in rows] == ["cold", "call", "http", "conc"]
    assert all(row["raw"] > 0 and row["ours"] > 0 and row["seen"] > 0 for row in rows)


def test_a_wrong_answer_ends_a_worker_of_the_benchmark(tmp_path: Path) -> None:
    program = """
import asyncio, worker
async def wrong(*words): return "no"
asyncio.run(worker.work(wrong, wrong))
"""

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=AGENT,
        env=environment(tmp_path),
        input='{"tool": "echo", "times": 1}\n',
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.returncode, done.stdout) == (1, "ready\n")
    assert done.stderr == 'wrong answer to {"tool": "echo", "times": 1}\n'
