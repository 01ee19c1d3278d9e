"""`runtime serve` as a process of its own, and a set of manifests whose runs wait for the test."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from queue import Queue

import httpx2
from command import LIMIT, started

GATE = '''
"""`Gate.ToolProvider`: a tool that ends when somebody says so."""

from contextlib import asynccontextmanager

import anyio

from runtime import Kind, kind
from runtime.ai import Tool, ToolProvider

PARAMETERS = {"type": "object", "properties": {}}


@kind("Gate.ToolProvider", implements=ToolProvider)
class GateToolProvider(Kind):
    """A tool that ends when somebody says so."""

    port: int

    @asynccontextmanager
    async def open(self, context):
        yield Gate(self.port)


class Gate:
    def __init__(self, port):
        self.port = port

    async def list_tools(self):
        return [Tool("wait", "Waits.", PARAMETERS)]

    async def call_tool(self, name, arguments):
        async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
            return (await stream.receive(100)).decode()
'''
MANIFEST = """
kind: Runtime.Application
metadata: {{ name: Gated }}
imports: {{ Gate: ./gate }}
---
kind: Gate.ToolProvider
metadata: {{ name: Tools }}
port: {port}
---
kind: Ai.ScriptedModel
metadata: {{ name: Model }}
rules:
  - when: {{ toolResult: ".+" }}
    text: "the gate said ${{{{ result }}}}"
  - when: {{ user: gate }}
    text: I ask the gate
    toolCalls: [{{ name: wait, arguments: {{}} }}]
  - when: {{ user: secret }}
    text: "it is ${{{{ secrets.word }}}}, yes"
  - text: hello
---
kind: Ai.Agent
metadata: {{ name: Porter }}
model: !ref Model
toolProviders: [{{ provider: !ref Tools }}]
"""
SECRET = "heron-on-the-roof"


class Gate:
    """Where the tools of runs that wait knock."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._accepted: list[socket.socket] = []
        self.port = listener.getsockname()[1]

    def wait_for_call(self) -> socket.socket:
        """The tool of a run: what is sent to it is its result."""
        accepted = self._listener.accept()[0]
        accepted.settimeout(LIMIT)
        self._accepted.append(accepted)
        return accepted

    def close(self) -> None:
        for accepted in self._accepted:
            accepted.close()


class Served:
    """A service that runs; `client` asks it."""

    def __init__(self, process: "subprocess.Popen[str]", url: str, lines: "Queue[str | None]") -> None:
        self.process = process
        self.url = url
        self.client = httpx2.Client(base_url=url, timeout=LIMIT)
        self._lines = lines

    def expect(self, text: str) -> str:
        """The next line of its log that holds the text."""
        return wait_for_line(self._lines, text)

    def run_gated(self) -> str:
        """Begin a run that waits at the gate; its id."""
        answer = self.client.post("/runs", json={"target": "Porter", "inputs": {"prompt": "gate"}})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])


def wait_for_line(lines: "Queue[str | None]", text: str) -> str:
    seen = []
    while (line := lines.get(timeout=LIMIT)) is not None:
        seen.append(line)
        if text in line:
            return line
    raise AssertionError(f"no line with {text!r} in {seen}")


@contextmanager
def serving(folder: Path, *arguments: str, **env: str) -> Iterator[Served]:
    """Run `runtime serve ARGUMENTS` on a free port while the block runs."""
    lines: Queue[str | None] = Queue()
    with started(folder, "serve", *arguments, "--port", "0", **env) as process:
        reader = threading.Thread(target=_read, args=(process, lines))
        reader.start()
        try:
            line = wait_for_line(lines, "listening on")
            served = Served(process, line.split()[-1], lines)
            with served.client:
                yield served
        finally:
            process.kill()
            reader.join()


@contextmanager
def gated(folder: Path, *arguments: str, **env: str) -> Iterator[tuple[Served, Gate]]:
    """The same with an agent `Porter`, whose tool waits at the gate when the prompt says `gate`."""
    (folder / "gate").mkdir()
    (folder / "gate/tool_provider.py").write_text(GATE)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(LIMIT)
        gate = Gate(listener)
        (folder / "gated.yaml").write_text(MANIFEST.format(port=gate.port))
        with closing(gate), serving(folder, "gated.yaml", *arguments, WORD=SECRET, **env) as served:
            yield served, gate


def _read(process: "subprocess.Popen[str]", lines: "Queue[str | None]") -> None:
    assert process.stderr is not None
    for line in process.stderr:
        lines.put(line.rstrip("\n"))
    lines.put(None)
