"""Workers of one set as child processes, the runs that are queued for them, and what became of each."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from queue import Queue
from subprocess import Popen
from threading import Thread
from typing import Any, NamedTuple

from command import LIMIT, started

from runtime.durable.contracts import RunInfo
from runtime.durable.intake import Intake, taking_up
from runtime.durable.ledger import open_ledger
from runtime.embedding import open_manifests

MANIFEST = """
kind: Durable.Store
metadata: {{ name: Runs }}
url: {url}
takeoverAfter: 2s
---
kind: Mcp.StdioClient
metadata: {{ name: Logged }}
command: {python}
args: [{server}, {log}]
---
kind: AiMcp.ToolProvider
metadata: {{ name: Tools }}
client: !ref Logged
---
kind: Ai.Agent
metadata: {{ name: Clerk }}
model:
  kind: Ai.ScriptedModel
  rules:
    - when: {{ toolResult: noted }}
      text: ${{{{ result }}}}
    - when: {{ user: "^note (.+)$" }}
      toolCalls: [{{ name: note, arguments: {{ text: "${{{{ match['1'] }}}}" }} }}]
    - when: {{ user: "^hold ([0-9]+) (.+)$" }}
      toolCalls: [{{ name: hold, arguments: {{ port: !cel "int(match['1'])", text: "${{{{ match['2'] }}}}" }} }}]
toolProviders: [{{ provider: !ref Tools }}]
durable: {{ store: !ref Runs{durable} }}
"""


class Call(NamedTuple):
    """A line that the server wrote; see `logged.py`."""

    tool: str
    text: str
    key: str
    attempt: int


class Worker:
    """A worker by what it says; `ended` are the runs that it told of, each with what became of it."""

    def __init__(self, process: "Popen[str]") -> None:
        self.process = process
        self.said: list[str] = []
        self.ended: dict[str, str] = {}
        self.is_silent = False

    @property
    def is_up(self) -> bool:
        return self.has_said("takes up runs of ")

    def has_said(self, start: str) -> bool:
        return any(line.startswith(start) for line in self.said)

    def has_carried(self, run: RunInfo) -> bool:
        """Whether it was this one that carried a run on last."""
        return run.executor.startswith(f"{self.process.pid}-")

    def hear(self, line: str | None) -> None:
        """A line of its standard error, or None for the end."""
        if line is None:
            self.is_silent = True
            return
        self.said.append(line)
        words = line.split()
        if words[0] in ("Clerk", "Tick") and len(words) > 2 and words[1] != "ready":
            self.ended[words[1]] = words[2].rstrip(":")


class Fleet:
    """A set in a folder of its own."""

    def __init__(self, folder: Path, url: str, durable: str = "") -> None:
        self.folder = folder
        self.url = url
        self.log = folder / "log"
        self.log.touch()
        self._lines: Queue[tuple[Worker, str | None]] = Queue()
        server = Path(__file__).with_name("logged.py")
        text = MANIFEST.format(url=url, python=sys.executable, server=server, log=self.log, durable=durable)
        (folder / "set.yaml").write_text(text, encoding="utf-8")

    @property
    def calls(self) -> list[Call]:
        lines = [line.split() for line in self.log.read_text(encoding="utf-8").splitlines()]
        return [Call(tool, text, key, int(attempt)) for tool, text, key, attempt in lines]

    @contextmanager
    def worker(self, *arguments: str) -> Iterator[Worker]:
        """A worker that is up."""
        with started(self.folder, "worker", "set.yaml", *arguments) as process:
            worker = Worker(process)
            reader = Thread(target=_read, args=(worker, self._lines))
            reader.start()
            try:
                self.wait_until(lambda: worker.is_up or worker.is_silent)
                assert worker.is_up, worker.said
                yield worker
            finally:
                process.kill()
                reader.join()

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Listen to the workers until it is so."""
        while not is_so():
            worker, line = self._lines.get(timeout=LIMIT)
            worker.hear(line)

    def end(self, worker: Worker, number: int) -> int:
        """Send a signal, and wait for the end; the exit code."""
        worker.process.send_signal(number)
        self.wait_until(lambda: worker.is_silent)
        return worker.process.wait(LIMIT)

    @asynccontextmanager
    async def front(self) -> AsyncIterator[Any]:
        """The store in this process, which takes up none of its runs."""
        with taking_up(Intake(0)):
            async with open_manifests(str(self.folder / "set.yaml"), names=["Clerk"]) as live:
                yield live["Runs"]

    async def queue(self, prompts: Mapping[str, str], priorities: Mapping[str, int] | None = None) -> None:
        """A run of the clerk for each id and prompt."""
        async with self.front() as store:
            for id, prompt in prompts.items():
                priority = (priorities or {}).get(id)
                await store.start("Clerk", {"prompt": prompt}, run_id=id, queued=True, priority=priority)

    async def list(self) -> list[RunInfo]:
        ledger = await open_ledger(self.url, str(self.folder))
        try:
            return await ledger.list(limit=1000)
        finally:
            await ledger.close()


def _read(worker: Worker, lines: "Queue[tuple[Worker, str | None]]") -> None:
    assert worker.process.stderr is not None
    for line in worker.process.stderr:
        lines.put((worker, line.rstrip("\n")))
    lines.put((worker, None))
