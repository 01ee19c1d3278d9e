"""What keeping a run costs for each step, beside what bare DBOS costs for a step of the same size.

An agent of a script calls a tool in each of its turns, once plain and once kept: the difference by the number of
recorded steps is `ours`. A workflow of bare DBOS, set up as ours is (WAL, portable JSON), records as many steps of the
same size: that is `bare`. Rounds of both alternate, each in a process of its own; `ratio` is that of the medians, and
`calmRatio` that of the least disturbed rounds.

    python benchmarks/durable [--turns 20] [--rounds 25] [--runs 100] [--output text|json]

With PostgreSQL on the machine a server is started for it in a folder of its own. `throughput` are kept runs of three
turns, all begun at once in one process.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).parent
LIMIT = 1.3
"""The most that a step may cost, by what it costs with bare DBOS."""


class Side:
    """A process that does a round whenever it is asked to."""

    def __init__(self, script: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / script), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *words: object) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def compare(url: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Figures of one database, in milliseconds for a step."""
    with ExitStack() as stack:
        sides = [Side("ours.py", url, str(folder), str(options.turns)), Side("bare.py", url, str(folder))]
        for side in sides:
            stack.callback(side.close)
        ours, bare = sides
        first = ours.ask("round")
        steps, size = first["steps"], first["bytes"]
        bare.ask("round", steps, size)
        kept, raw, plain = [], [], []
        for _ in range(options.rounds):
            round_ = ours.ask("round")
            plain.append(round_["plain"] / steps)
            kept.append((round_["kept"] - round_["plain"]) / steps)
            raw.append(bare.ask("round", steps, size)["seconds"] / steps)
        computed = compute_server(url)
        throughput = ours.ask("many", options.runs)
        done = throughput["runs"] * throughput["stepsPerRun"]
        throughput["serverCpuMsPerStep"] = (compute_server(url) - computed) * 1000 / done
        throughput["storedBytesPerStep"] = weigh(url)
    medians = [statistics.median(each) * 1000 for each in (plain, kept, raw)]
    return {
        "steps": steps,
        "bytesPerStep": size,
        "plainMs": round(medians[0], 3),
        "oursMs": round(medians[1], 3),
        "bareMs": round(medians[2], 3),
        "ratio": round(medians[1] / medians[2], 2),
        "calmRatio": round(min(kept) / min(raw), 2),
        "throughput": throughput,
    }


def compute_server(url: str) -> float:
    """Seconds of a processor that the server has used; 0 for a file, whose work is the process's own."""
    if url.startswith("sqlite"):
        return 0.0
    folder = Path(url.partition("host=")[2])
    postmaster = psutil.Process(int((folder / "data/postmaster.pid").read_text().split()[0]))
    times = [process.cpu_times() for process in (postmaster, *postmaster.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def weigh(url: str) -> int:
    """Bytes of the database for each step in it, with the indexes and the runs themselves."""
    if url.startswith("sqlite"):
        import sqlite3

        file = Path(url.removeprefix("sqlite:///"))
        with sqlite3.connect(file) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            steps = database.execute("SELECT count(*) FROM operation_outputs").fetchone()[0]
        return int(file.stat().st_size / steps)
    import psycopg

    tables = ("workflow_status", "workflow_input", "workflow_output", "operation_outputs")
    with psycopg.connect(url) as connection:
        query = "SELECT pg_total_relation_size(%s::regclass)"
        sizes = [connection.execute(query, [f"runtime.{table}"]).fetchone() for table in tables]
        steps = connection.execute("SELECT count(*) FROM runtime.operation_outputs").fetchone()
    return int(sum(size[0] for size in sizes if size) / steps[0]) if steps else 0


@contextmanager
def find_databases(folder: Path) -> Iterator[dict[str, str]]:
    """The databases by name: a file, and a server where the machine has one."""
    sys.path.insert(0, str(HERE.parent.parent / "tests"))
    from _pytest.outcomes import Skipped
    from postgres import running_postgres

    with ExitStack() as stack:
        found = {"SQLite": f"sqlite:///{folder / 'runs.db'}"}
        try:
            found["PostgreSQL"] = stack.enter_context(running_postgres()).url
        except Skipped as reason:
            print(f"PostgreSQL is left out: {reason}", file=sys.stderr)
        yield found


def show(figures: dict[str, dict[str, Any]]) -> None:
    for name, of in figures.items():
        print(f"{name}: {of['steps']} steps of {of['bytesPerStep']} bytes each")
        print(f"  a step of the plain loop  {of['plainMs']:8.3f} ms")
        print(f"  kept: more, for a step    {of['oursMs']:8.3f} ms")
        print(f"  bare DBOS, for a step     {of['bareMs']:8.3f} ms")
        print(f"  ratio {of['ratio']:.2f} (at most {LIMIT}), in the calmest rounds {of['calmRatio']:.2f}")
        many = of["throughput"]
        print(
            f"  {many['runs']} runs at once in one process: {many['runsPerSecond']:.1f} runs/s,"
            f" {many['stepsPerSecond']:.0f} steps/s; a step costs {many['cpuMsPerStep']:.2f} ms of a processor there,"
            f" {many['serverCpuMsPerStep']:.2f} ms in the server, and {many['storedBytesPerStep']} bytes"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="What keeping a run costs for each step.")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--output", choices=("text", "json"), default="text")
    options = parser.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory() as name, find_databases(Path(name)) as databases:
        for database, url in databases.items():
            figures[database] = compare(url, Path(name), options)
    if options.output == "json":
        print(json.dumps(figures, indent=2))
    else:
        show(figures)
    return int(any(of["ratio"] > LIMIT for of in figures.values()))


if __name__ == "__main__":
    raise SystemExit(main())
