"""How each figure is taken: whole processes to their answer, or jobs of a worker that is warm."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from fakes import DONE

HERE = Path(__file__).parent
SYSTEMS = ("raw", "ours")
MANIFEST_END = """\
kind: AiOpenai.OpenaiModel
metadata: { name: Model }
model: fake
apiKey: k
baseUrl: URL
---
kind: Ai.Agent
metadata: { name: Agent }
model: !ref Model
maxSteps: 1000
toolProviders:
"""

Take = Callable[[], float]
"""Takes a figure once."""


@dataclass(frozen=True)
class Servers:
    """The MCP servers of a scenario, all alike."""

    count: int = 1
    tools: int = 0
    delay: float = 0
    """Seconds that each needs to start."""
    is_http: bool = False


class Scenario(Protocol):
    def prepare(self, bench: "Bench", system: str) -> AbstractContextManager[Take]:
        """Whatever has to run before a figure can be taken of the system."""


@dataclass(frozen=True)
class Figure:
    """A figure, and the most that it may be: of ours where it is absolute, else of the ratio to the reference's."""

    name: str
    title: str
    unit: str
    most: float
    scenario: Scenario
    is_absolute: bool = False


class Process:
    """One system's process, read line by line."""

    def __init__(self, words: list[str]) -> None:
        self.started = time.perf_counter()
        self.popen = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def read_until(self, text: str) -> str:
        """The next line with the text in it. Raises SystemExit when the process ends before."""
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            if text in line:
                return line
        raise SystemExit(f"{' '.join(self.popen.args)} ended early: {self.popen.communicate()[1][-2000:]}")

    def cpu(self) -> float:
        """Seconds of CPU so far, without its children's (the encoding is the kernel's, for any process's clock)."""
        return time.clock_gettime((~self.popen.pid << 3) | 2)

    def megabytes(self) -> float:
        """Memory at the peak."""
        status = Path(f"/proc/{self.popen.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024

    def ask(self, job: dict[str, Any]) -> dict[str, float]:
        """Have a worker do a job."""
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps(job) + "\n")
        self.popen.stdin.flush()
        return dict(json.loads(self.read_until("{")))

    def close(self) -> None:
        try:
            self.popen.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.communicate()


@dataclass(frozen=True)
class Shot:
    """A whole process, from its start to the agent's answer."""

    unit: str
    """`cpu` in ms, `wall` in ms, memory in `mb`, or the milliseconds to its `end` after the answer."""
    servers: Servers = field(default_factory=Servers)
    turns: int = 1

    @contextmanager
    def prepare(self, bench: "Bench", system: str) -> Iterator[Take]:
        prompt = json.dumps({"turns": self.turns, "calls": 1})
        place = bench.describe(system, self.servers)
        ours = [str(Path(sys.executable).parent / "runtime"), "apply", place, "--agent", "Agent", "--prompt", prompt]
        words = ours if system == "ours" else [sys.executable, str(HERE / "raw.py"), place, prompt]
        yield lambda: self._take(words)

    def _take(self, words: list[str]) -> float:
        with closing(Process(words)) as process:
            process.read_until(DONE)
            answered = time.perf_counter()
            seen = {"cpu": process.cpu() * 1000, "mb": process.megabytes()}
        seen["wall"] = (answered - process.started) * 1000
        seen["end"] = (time.perf_counter() - answered) * 1000
        return seen[self.unit]


@dataclass(frozen=True)
class Job:
    """CPU of a job that a worker does, in milliseconds a call; against another's of the same worker, their ratio."""

    job: dict[str, Any]
    calls: int
    servers: Servers = field(default_factory=Servers)
    against: "Job | None" = None

    @contextmanager
    def prepare(self, bench: "Bench", system: str) -> Iterator[Take]:
        words = [sys.executable, str(HERE / f"{system}.py"), bench.describe(system, self.servers)]
        with closing(Process(words)) as process:
            process.read_until("ready")
            yield lambda: self._take(process) / (self.against._take(process) if self.against else 1)

    def _take(self, process: Process) -> float:
        return process.ask(self.job)["cpu"] * 1000 / self.calls


class Bench:
    """The model and the HTTP server that all use, and a folder for what is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._model, self._http = (
            subprocess.Popen(fake(role), stdout=subprocess.PIPE, text=True) for role in ("model", "http")
        )
        self._ports = [int(each.stdout.readline()) for each in (self._model, self._http) if each.stdout]

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in (self._model, self._http):
            process.kill()
            process.communicate()

    def measure(self, figure: Figure, rounds: int) -> list[list[float]]:
        """The reference's and ours of each round; a first one of each is not counted."""
        with ExitStack() as stack:
            takes = [stack.enter_context(figure.scenario.prepare(self, system)) for system in SYSTEMS]
            return [[take() for take in takes] for _ in range(rounds + 1)][1:]

    def describe(self, system: str, servers: Servers) -> str:
        """The file that tells a system what to connect to."""
        words = fake("stdio", "--tools", str(servers.tools), "--delay", str(servers.delay))
        one = {"command": words[0], "args": words[1:]}
        if servers.is_http:
            one = {"url": f"http://127.0.0.1:{self._ports[1]}/mcp"}
        model = f"http://127.0.0.1:{self._ports[0]}/v1"
        place = self.folder / f"{system}.yaml"
        spec = json.dumps({"model": model, "servers": [one] * servers.count})
        place.write_text(spec if system == "raw" else make_manifest(model, one, servers.count))
        return str(place)


def fake(*words: str) -> list[str]:
    return [sys.executable, "-S", "-E", str(HERE / "fakes.py"), *words]


def make_manifest(model: str, server: dict[str, Any], count: int) -> str:
    """The servers S0, S1 ..., and an agent that has the tools of all."""
    kind = "Mcp.HttpClient" if "url" in server else "Mcp.StdioClient"
    fields = "".join(f"{name}: {json.dumps(value)}\n" for name, value in server.items())
    clients = [
        f"kind: {kind}\nmetadata: {{ name: S{number} }}\nmaxResultBytes: 50000000\n{fields}" for number in range(count)
    ]
    providers = [
        f"  - provider: {{ kind: AiMcp.ToolProvider, client: !ref S{number} }}\n"
        + (f"    prefix: s{number}_\n" if number else "")
        for number in range(count)
    ]
    return "---\n".join([*clients, MANIFEST_END.replace("URL", model) + "".join(providers)])


def script(turns: int, calls: int = 1, runs: int = 1) -> dict[str, Any]:
    return {"prompt": json.dumps({"turns": turns, "calls": calls}), "runs": runs}


LONG = Job(script(200), 200)
SHORT = Job(script(20), 20)
FIGURES = (
    Figure("cold", "process start to the answer, one tool call", "ms", 0.40, Shot("cpu")),
    Figure("memory", "the same, memory at the peak", "MB", 40, Shot("mb"), is_absolute=True),
    Figure("exit", "the same, from the answer to the end of the process", "ms", 0.30, Shot("end")),
    Figure("servers", "as cold, with 10 servers", "ms", 0.40, Shot("cpu", Servers(10))),
    Figure(
        "slow",
        "the same, each needing 0.3 s to start, wall time",
        "ms",
        800,
        Shot("wall", Servers(10, delay=0.3)),
        True,
    ),
    Figure("catalogue", "as cold, 1000 tools and 5 turns", "ms", 0.45, Shot("cpu", Servers(tools=1000), turns=5)),
    Figure("call", "a tool call over stdio", "ms", 0.35, Job({"tool": "echo", "times": 500}, 500)),
    Figure("big", "a result of 20 MB", "ms", 0.25, Job({"tool": "big"}, 1)),
    Figure("seq20", "20 tool calls one after the other, each", "ms", 0.75, SHORT),
    Figure("seq200", "200 tool calls one after the other, each", "ms", 0.60, LONG),
    Figure("growth", "a call of 200 against a call of 20", "x", 1.5, Job(LONG.job, 200, against=SHORT), True),
    Figure("http", "20 tool calls over Streamable HTTP, each", "ms", 0.90, Job(script(20), 20, Servers(is_http=True))),
    Figure("par", "6 turns of 32 tool calls beside each other, each", "ms", 0.45, Job(script(6, 32), 192)),
    Figure("conc", "100 runs at once of 3 tool calls, a run", "ms", 0.50, Job(script(3, runs=100), 100)),
)
