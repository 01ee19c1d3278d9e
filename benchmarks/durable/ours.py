"""An agent that is kept and one that is not, of one script: `python ours.py URL FOLDER TURNS`, asked on its input.

`round` runs each once and answers `{plain, kept, steps, bytes}`; `many N` runs N kept ones at once.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from runtime.embedding import open_manifests

AGENT = """
---
kind: Ai.Agent
metadata: {{ name: {name} }}
model: {{ kind: Ai.ScriptedModel, turns: [{turns}] }}
toolProviders: [{{ provider: !ref Tools }}]
maxSteps: 1000
{more}
"""
MANIFEST = """
kind: Runtime.Application
metadata: {{ name: Bench }}
imports: {{ Bench: ./bench }}
---
kind: Durable.Store
metadata: {{ name: Runs }}
url: "{url}"
---
kind: Bench.ToolProvider
metadata: {{ name: Tools }}
"""
TOOLS = '''
"""`Bench.ToolProvider`: a tool that costs nothing."""

from contextlib import asynccontextmanager

from runtime import Kind, kind
from runtime.ai import Text, Tool, ToolProvider

PARAMETERS = {"type": "object", "properties": {"text": {"type": "string"}}}


@kind("Bench.ToolProvider", implements=ToolProvider)
class BenchToolProvider(Kind):
    """A tool that costs nothing."""

    @asynccontextmanager
    async def open(self, context):
        yield BenchTools()


class BenchTools:
    async def list_tools(self):
        return [Tool("note", "Notes.", PARAMETERS)]

    async def call_tool(self, name, arguments):
        return [Text(arguments["text"])]
'''
KEPT = 'durable: { store: !ref Runs, retrySafe: ["*"] }'
TURN = '{ toolCalls: [{ name: note, arguments: { text: "NUMBER is what is noted in this turn, in a few words" } }] }'
FEW = 2


def write(url: str, folder: Path, turns: int) -> Path:
    def script(most: int) -> str:
        return ", ".join([*(TURN.replace("NUMBER", str(number)) for number in range(most)), "{ text: done }"])

    (folder / "bench").mkdir(exist_ok=True)
    (folder / "bench/tool_provider.py").write_text(TOOLS)
    text = MANIFEST.format(url=url)
    for name, most, more in (("Plain", turns, ""), ("Kept", turns, KEPT), ("Short", FEW, KEPT)):
        text += AGENT.format(name=name, turns=script(most), more=more)
    manifest = folder / "bench.yaml"
    manifest.write_text(text)
    return manifest


async def run_round(live: Any) -> dict[str, Any]:
    started = time.perf_counter()
    await live["Plain"].invoke({"prompt": "go"})
    plain = time.perf_counter() - started
    started = time.perf_counter()
    await live["Kept"].invoke({"prompt": "go"})
    kept = time.perf_counter() - started
    ledger = live["Runs"].ledger
    steps = (await ledger.show((await ledger.list(target="Kept", limit=1))[0].id)).steps
    size = sum(len(json.dumps(step.output)) for step in steps) // len(steps)
    return {"plain": plain, "kept": kept, "steps": len(steps), "bytes": size}


async def run_many(live: Any, number: int) -> dict[str, Any]:
    names = [uuid4().hex for _ in range(number)]
    started, computed = time.perf_counter(), time.process_time()
    await asyncio.gather(*(live["Short"].named(name).invoke({"prompt": "go"}) for name in names))
    seconds, cpu = time.perf_counter() - started, time.process_time() - computed
    details = await live["Runs"].ledger.show(names[0])
    steps = len(details.steps)
    stored = json.dumps([details.inputs, details.result, *(step.output for step in details.steps)])
    return {
        "runs": number,
        "stepsPerRun": steps,
        "runsPerSecond": number / seconds,
        "stepsPerSecond": number * steps / seconds,
        "cpuMsPerStep": cpu * 1000 / number / steps,
        "rowsPerRun": steps + 1,
        "bytesPerRun": len(stored),
    }


async def main(url: str, folder: str, turns: str) -> None:
    async with open_manifests(str(write(url, Path(folder), int(turns)))) as live:
        while line := await asyncio.to_thread(sys.stdin.readline):
            word, *more = line.split()
            answer = await (run_many(live, int(more[0])) if word == "many" else run_round(live))
            print(json.dumps(answer), flush=True)


asyncio.run(main(*sys.argv[1:]))
