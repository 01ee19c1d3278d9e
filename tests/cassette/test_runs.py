"""Runs recorded and replayed inside the test's own process: what stands on the border, and what runs again."""

from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import msgspec
import pytest

from runtime.ai.contracts import Image, TurnEnd, Usage
from runtime.cassette.borders import find_borders
from runtime.cassette.reader import CassetteReader
from runtime.cassette.recording import Recorder
from runtime.cassette.replaying import Replay
from runtime.cassette.spelling import read_end, spell_end
from runtime.cassette.writer import write_cassette
from runtime.changes import Changes
from runtime.checks import Checked, check
from runtime.errors import Error, StartError
from runtime.lifecycle import Report, bring_up
from runtime.manifest import Source
from runtime.masking import Masker
from runtime.resolver import resolve

pytestmark = pytest.mark.anyio

KINDS = '''
"""Kinds of a third party, which count how often they are asked."""

from contextlib import asynccontextmanager

import anyio
from runtime import Kind, ToolError, kind
from runtime.ai import Image, Text, Tool, ToolProvider, ToolResult
from runtime.contracts import Invocable

CALLS = []


@kind("Mine.Tools", implements=ToolProvider)
class Tools(Kind):
    """Tools."""

    @asynccontextmanager
    async def open(self, context):
        CALLS.append("open")
        yield Live()


class Live:
    name = "Live"
    instructions = "Use them well."

    def __init__(self):
        self.tools = [Tool("parts", "", {"type": "object"}), Tool("more", "", {"type": "object"})]

    async def list_tools(self):
        return self.tools

    async def call_tool(self, name, arguments):
        CALLS.append(name)
        if name == "parts":
            self.tools = [*self.tools, Tool("late", "", {"type": "object"})]
            return ToolResult([Text("seen"), Image("aGVs", "image/png")], [{"rest": 1}])
        if name == "late":
            raise ToolError("too late", code="ERR_MINE")
        await anyio.sleep_forever()


@kind("Mine.Work", implements=Invocable)
class Work(Kind):
    """Work."""

    @asynccontextmanager
    async def open(self, context):
        yield self

    async def invoke(self, inputs):
        CALLS.append("work")
        return {"doubled": 2 * inputs["n"]}
'''
MANIFEST = """\
kind: Runtime.Application
metadata: { name: App }
imports: { Mine: ./mine.py }
---
kind: Mine.Tools
metadata: { name: Own }
---
kind: Mine.Work
metadata: { name: Work }
---
kind: Ai.Tools
metadata: { name: Offered }
tools: [{ tool: !ref Work, name: work, parameters: { type: object } }]
---
kind: Ai.FallbackModel
metadata: { name: Chain }
models:
  - { kind: Ai.ScriptedModel, turns: [{ error: { code: ERR_MODEL_TIMEOUT, message: slow } }] }
  - !ref Script
---
kind: Ai.ScriptedModel
metadata: { name: Script }
rules:
  - when: { user: start }
    toolCalls: [{ name: parts }, { name: work, arguments: { n: 21 } }]
  - when: { toolResult: '"doubled":42', tools: [late] }
    text: one more
    toolCalls: [{ name: late }, { name: more }]
  - when: { toolResult: . }
    text: "the end"
---
kind: Ai.Agent
metadata: { name: Assistant }
model: !ref Chain
toolProviders: [{ provider: !ref Own }, { provider: !ref Offered }]
toolTimeoutMs: 50
"""


class Silent(Report):
    def starting(self, name: str) -> None: ...

    def ready(self, name: str, seconds: float, summary: str) -> None: ...

    def warn(self, name: str, message: str) -> None: ...

    def log(self, name: str, message: str) -> None: ...


def read(folder: Path, manifest: str) -> Checked:
    (folder / "mine.py").write_text(KINDS)
    checked = check([Source("manifest.yaml", dedent(manifest).encode(), str(folder))])
    assert [found for found in checked.diagnostics if found.severity == "error"] == []
    return checked


async def run(checked: Checked, opener: Any, changes: Changes, inputs: Mapping[str, Any]) -> list[Any]:
    """The events of the agent's run, the last of which may be an error's."""
    agent = checked.resources.by_name["Assistant"]
    events = []
    with anyio.fail_after(20):
        async with bring_up(resolve(checked, [agent], {}, changes), Silent(), opener) as live:
            try:
                async with aclosing(live["Assistant"].run(inputs)) as happening:
                    async for event in happening:
                        events.append(msgspec.to_builtins(event))
            except Error:
                assert events[-1]["type"] == "error"
    return [{name: value for name, value in event.items() if name != "durationMs"} for event in events]


async def record(checked: Checked, folder: Path, **inputs: Any) -> list[Any]:
    recorder = Recorder(find_borders(checked.resources), Masker())
    events = await run(checked, recorder.open, Changes(), inputs)
    write_cassette(str(folder / "tape"), recorder.finish({}))
    return events


async def replay(checked: Checked, folder: Path, **inputs: Any) -> tuple[list[Any], Replay]:
    borders = find_borders(checked.resources)
    played = Replay(CassetteReader(), str(folder / "tape"), borders, Masker())
    changes = Changes(stand_ins=borders.keys(), reads_secrets=False)
    return await run(checked, played.open, changes, inputs), played


def calls(checked: Checked) -> list[str]:
    """What the third party's kinds were asked since the last time."""
    import sys

    entry: Any = checked.resources.by_name["Own"].entry
    made: list[str] = sys.modules[entry.cls.__module__].CALLS
    taken = made[:]
    made.clear()
    return taken


def test_the_border_is_what_uses_nothing_of_its_kind_and_every_client(tmp_path: Path) -> None:
    lending = """\
---
kind: Mcp.StdioClient
metadata: { name: Lending }
command: nothing
sampling: { model: !ref Script }
"""

    borders = find_borders(read(tmp_path, MANIFEST + lending).resources)

    assert {border.key: border.contract for border in borders.values()} == {
        "Own": "Ai.ToolProvider",
        "Work": "Runtime.Invocable",
        "Chain.models[0]": "Ai.Model",
        "Script": "Ai.Model",
        "Lending": "Mcp.Client",
    }


async def test_a_run_is_the_same_again_with_nothing_asked_anew(tmp_path: Path) -> None:
    checked = read(tmp_path, MANIFEST)

    recorded = await record(checked, tmp_path, prompt="start")
    asked = calls(checked)
    replayed, played = await replay(checked, tmp_path, prompt="start")

    assert replayed == recorded
    assert [event["type"] for event in recorded].count("tool-result") == 4
    assert [event.get("code") for event in recorded if event["type"] == "tool-result"] == [
        None,
        None,
        "ERR_MINE",
        "ERR_TOOL_TIMEOUT",
    ]
    assert (sorted(asked), calls(checked)) == (["late", "more", "open", "parts", "work"], [])
    assert (played.mismatch, played.unused()) == (None, [])


async def test_the_first_mismatch_is_kept_whatever_the_agent_makes_of_it(tmp_path: Path) -> None:
    checked = read(tmp_path, MANIFEST)
    await record(checked, tmp_path, prompt="start")
    recording = tmp_path / "tape/Work.yaml"
    recording.write_text(recording.read_text().replace("n: 21", "n: 22").replace('"n": 21', '"n": 22'))

    events, played = await replay(checked, tmp_path, prompt="start")

    assert events[-1]["type"] == "error"
    assert played.mismatch is not None
    assert (played.mismatch.details["recording"], played.mismatch.details["exchange"]) == ("Work", 1)


async def test_what_a_client_lends_its_server_is_no_exchange_of_the_set(tmp_path: Path) -> None:
    server = Path(__file__).parent.parent / "servers/hostile.py"
    asking = """
waiting = []
def call(id, name, arguments):
    waiting.append(id)
    send({"id": 99, "method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "a word"}}], "maxTokens": 5}})
    return SILENT
def take_answer(message):
    reply(waiting.pop(), text("the model said " + message["result"]["content"]["text"]))
"""
    manifest = f"""\
kind: Mcp.StdioClient
metadata: {{ name: Lending }}
command: python3
args: {msgspec.json.encode([str(server), asking]).decode()}
sampling: {{ model: !ref Script }}
---
kind: Ai.ScriptedModel
metadata: {{ name: Script }}
rules:
  - {{ when: {{ user: a word }}, text: lent }}
  - {{ when: {{ user: start }}, toolCalls: [{{ name: echo }}] }}
  - {{ when: {{ toolResult: lent }}, text: done }}
---
kind: Ai.Agent
metadata: {{ name: Assistant }}
model: !ref Script
toolProviders: [{{ provider: {{ kind: AiMcp.ToolProvider, client: !ref Lending }} }}]
"""
    checked = read(tmp_path, manifest)

    recorded = await record(checked, tmp_path, prompt="start")
    replayed, played = await replay(checked, tmp_path, prompt="start")

    assert recorded[-1]["text"] == "done"
    assert (replayed, played.unused()) == (recorded, [])


async def test_a_secret_of_an_inline_resource_on_the_border_is_not_asked_for(tmp_path: Path) -> None:
    manifest = """\
kind: Ai.Agent
metadata: { name: Assistant }
model: { kind: Ai.ScriptedModel, turns: [{ text: "${{ secrets.word }}" }] }
system: "${{ secrets.other }}"
"""
    checked = read(tmp_path, manifest)
    recorder = Recorder(find_borders(checked.resources), Masker(["open sesame", "geheim"]))
    environment = {"WORD": "open sesame", "OTHER": "geheim"}
    agent = checked.resources.by_name["Assistant"]
    async with bring_up(resolve(checked, [agent], environment), Silent(), recorder.open) as live:
        await live["Assistant"].invoke({"prompt": "go"})
    write_cassette(str(tmp_path / "tape"), recorder.finish({}))

    events, _ = await replay(checked, tmp_path, prompt="go")

    assert (events[-1]["type"], events[-1]["text"]) == ("finish", "***")


async def test_a_resource_without_a_recording_does_not_start(tmp_path: Path) -> None:
    checked = read(tmp_path, MANIFEST)
    await record(checked, tmp_path, prompt="start")
    (tmp_path / "tape/Script.yaml").unlink()

    with pytest.raises(StartError, match="there is no recording") as caught:
        await replay(checked, tmp_path, prompt="start")
    assert caught.value.code == "ERR_CASSETTE"


def test_images_of_a_model_are_played_back() -> None:
    end = TurnEnd([], "stop", Usage(), None, (Image("aGk=", "image/png"),), ({"executableCode": {}},))

    assert read_end(spell_end(end)) == end
