"""What whole processes of the command cost, beside a bare interpreter in the same rounds.

    python benchmarks/command.py [--rounds N] [--output text|json]

Figures are CPU time (user and system) of each process as a multiple of `python -c pass`, the median of the rounds: on a
busy machine they move far less than wall time. The manifests are made here; each agent has a model, tools and
expressions of its own.
"""

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

BIN = Path(sys.executable).parent

HEAD = """\
kind: Runtime.Application
metadata: { name: Benchmark }
variables:
  region: { default: north }
  warmth: { type: number, default: 0.2 }
targets: [!ref Agent1]
"""

TEAM = """\
---
kind: AiOpenai.OpenaiModel
metadata: { name: Model@ }
model: gpt-4o-mini
apiKey: "${{ secrets.openaiApiKey }}"
options: { temperature: "${{ variables.warmth }}", user: "team-@-${{ variables.region }}" }
---
kind: Mcp.StdioClient
metadata: { name: Server@ }
command: files-mcp
args: ["--root", "/srv/team-@", "--region=${{ variables.region }}"]
env: { REGION: !cel "variables.region", TEAM: "@" }
---
kind: AiMcp.ToolProvider
metadata: { name: Tools@ }
client: !ref Server@
---
kind: Ai.Agent
metadata: { name: Agent@ }
model: !ref Model@
system: |
  You work for team @ in ${{ variables.region }}.
  Read before you write.
toolProviders:
  - provider: !ref Tools@
    prefix: team@_
    include: [read_file, "list_*"]
"""

SINGLE = """\
---
kind: Ai.Agent
metadata: { name: Single@ }
model: { kind: AiOpenai.OpenaiModel, model: gpt-4o-mini, apiKey: "${{ secrets.openaiApiKey }}" }
"""


class Case(NamedTuple):
    """A command, the most that it may cost, and what it is hoped to cost, as multiples of a bare interpreter."""

    name: str
    words: Sequence[str]
    target: float | None = None
    stretch: float | None = None


class Cost(NamedTuple):
    """Seconds of CPU, and megabytes of memory at the peak."""

    cpu: float
    rss: float


def make_manifest(documents: int) -> str:
    """A valid manifest of that many documents, five at least: teams of four, and single agents to fill up."""
    teams, singles = divmod(documents - 1, 4)
    parts = [HEAD, *(TEAM.replace("@", str(number)) for number in range(1, teams + 1))]
    return "".join([*parts, *(SINGLE.replace("@", str(number)) for number in range(singles))])


def measure(words: Sequence[str]) -> Cost:
    """Run a command to its end. Raises SystemExit when it fails."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with code {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11, help="measured rounds, one of each command in turn")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    options = parser.parse_args()
    for package in ("runtime", "kinds"):  # whatever PYTHONDONTWRITEBYTECODE says: a wheel's files are compiled as well
        compileall.compile_dir(Path(__file__).parent.parent / package, quiet=2)
    with tempfile.TemporaryDirectory() as folder:
        cases = make_cases(Path(folder))
        for case in cases:
            measure(case.words)
        rounds = [[measure(case.words) for case in cases] for _ in range(options.rounds)]
    figures = [summarize(case, [[each[0], each[place]] for each in rounds]) for place, case in enumerate(cases)]
    growth = figures[-1]["cpuMs"] / figures[-2]["cpuMs"]
    if options.output == "json":
        print(json.dumps({"rounds": options.rounds, "cases": figures, "growth1000To5000": round(growth, 2)}, indent=2))
    else:
        print_table(figures)
        print(f"growth from 1000 to 5000 documents: {growth:.2f} x (linear: at most 5)")


def make_cases(folder: Path) -> list[Case]:
    runtime = str(BIN / "runtime")
    manifests = {}
    for count in (5, 1000, 5000):
        manifests[count] = folder / f"{count}.yaml"
        manifests[count].write_text(make_manifest(count))
    return [
        Case("python -c pass", [sys.executable, "-c", "pass"]),
        Case("runtime --help", [runtime, "--help"], 2.5),
        Case("validate, 5 documents", [runtime, "validate", str(manifests[5])], 6, 4.5),
        Case("validate, 1000 documents", [runtime, "validate", str(manifests[1000])], 16, 12),
        Case("validate, 5000 documents", [runtime, "validate", str(manifests[5000])]),
    ]


def summarize(case: Case, pairs: list[list[Cost]]) -> dict[str, object]:
    """The figures of one case; a pair holds the bare interpreter's cost and the case's own of one round."""
    ratio = statistics.median(own.cpu / bare.cpu for bare, own in pairs)
    return {
        "name": case.name,
        "cpuMs": round(statistics.median(own.cpu for _, own in pairs) * 1000, 1),
        "times": round(ratio, 2),
        "target": case.target,
        "stretch": case.stretch,
        "rssMb": round(max(own.rss for _, own in pairs), 1),
    }


def print_table(figures: list[dict[str, object]]) -> None:
    print(f"{'command':<26}{'CPU ms':>9}{'times':>8}{'target':>8}{'stretch':>9}{'MB':>8}")
    for row in figures:
        wanted = f"{row['target'] or '':>8}{row['stretch'] or '':>9}"
        print(f"{row['name']:<26}{row['cpuMs']:>9}{row['times']:>8}{wanted}{row['rssMb']:>8}")


if __name__ == "__main__":
    main()
