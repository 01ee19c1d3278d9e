"""A folder with an agent whose runs are kept, in processes of their own that can be killed, and what became of them."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
from command import Ended, run

from runtime.durable.contracts import Decision, RunDetails, RunInfo

SERVER = Path(__file__).parent / "servers" / "counting.py"
SQLITE = "sqlite:///.runtime/runs.db"

PROBE = '''
"""`Probe.Model`: a model that counts its turns in a log, and at some of them kills its process."""

import json, os, signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from runtime import Context, Kind, kind
from runtime.ai.contracts import Model, ModelRequest, TextDelta, ToolCall, TurnEnd, Usage


@kind("Probe.Model", implements=Model)
class ProbeModel(Kind):
    """The turns of a conversation, each the calls that it wants: `add:1`."""

    turns: list[list[str]]

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Model]:
        yield Probe(self.turns, context.folder)


class Probe:
    tool_format = ""
    max_tools = None

    def __init__(self, turns: list[list[str]], folder: Path) -> None:
        self.turns, self.folder = turns, folder

    async def generate(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        turn = 1 + sum(message.role == "assistant" for message in request.messages)
        self.kill_if(f"model:{turn}:before")
        with (self.folder / "log").open("a") as log:
            log.write(json.dumps({"tool": "model", "n": turn, "key": None}) + "\\n")
        yield TextDelta(f"turn {turn}")
        self.kill_if(f"model:{turn}:during")
        wanted = self.turns[turn - 1] if turn <= len(self.turns) else []
        names = [name.split(":") for name in wanted]
        calls = [ToolCall("", name, json.dumps({"n": int(n)})) for name, n in names]
        yield TurnEnd(calls, "tool-calls" if calls else "stop", Usage(1, 1, 2))

    def kill_if(self, moment: str) -> None:
        order = self.folder / "kill"
        if order.exists() and order.read_text() == moment:
            order.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
'''


class Kept:
    """A folder with an agent whose runs are kept, and what became of them."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        (folder / "probe").mkdir()
        (folder / "probe" / "model.py").write_text(PROBE)

    def write(self, turns: list[list[str]], durable: str = "", provider: str = "", store: str = "") -> None:
        """The manifest; `durable`, `provider` and `store` are more fields of the agent, its tools and the store."""
        self.manifest = f"""
kind: Runtime.Application
metadata: {{ name: Test }}
imports: {{ Probe: ./probe }}
---
kind: Durable.Store
metadata: {{ name: Runs }}
url: {json.dumps(self.url)}
{store}
---
kind: Mcp.StdioClient
metadata: {{ name: Counting }}
command: {sys.executable}
args: [{SERVER}, {self.folder / "log"}]
---
kind: AiMcp.ToolProvider
metadata: {{ name: Tools }}
client: !ref Counting
{provider}
---
kind: Probe.Model
metadata: {{ name: Model }}
turns: {json.dumps(turns)}
---
kind: Ai.Agent
metadata: {{ name: Assistant }}
model: !ref Model
maxSteps: 1000
toolProviders: [{{ provider: !ref Tools }}]
durable: {{ store: !ref Runs{durable} }}
"""
        (self.folder / "set.yaml").write_text(self.manifest)

    def apply(self, *arguments: str, kill: str = "") -> Ended:
        """`runtime apply` to its end; `kill` is the moment at which it is killed."""
        if kill:
            (self.folder / "kill").write_text(kill)
        return run(self.folder, "apply", "set.yaml", "--quiet", *arguments)

    def log(self) -> list[dict[str, Any]]:
        """What was done, one entry for each time: the tool (or `model`), its number, its key."""
        file = self.folder / "log"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def counts(self) -> dict[str, int]:
        """How often each thing was done."""
        return dict(Counter(f"{entry['tool']}:{entry['n']}" for entry in self.log()))

    def show(self, run_id: str) -> RunDetails:
        details: RunDetails = self.ask("show", run_id)
        return details

    def list(self) -> list[RunInfo]:
        infos: list[RunInfo] = self.ask("list")
        return infos

    def resume(self, run_id: str, uncertain: Decision | None = None) -> None:
        self.ask("resume", run_id, uncertain=uncertain)

    def ask(self, method: str, *arguments: Any, **more: Any) -> Any:
        """What a method of the store's ledger gives."""
        from runtime.durable.ledger import open_ledger

        async def ask() -> Any:
            ledger = await open_ledger(self.url, str(self.folder))
            try:
                return await getattr(ledger, method)(*arguments, **more)
            finally:
                await ledger.close()

        return anyio.run(ask)
