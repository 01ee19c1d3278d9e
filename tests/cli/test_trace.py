"""`apply --trace`, and the times of events."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command import run

MANIFEST = """\
kind: Ai.Agent
metadata: { name: Echo }
model: { kind: Ai.ScriptedModel, rules: [{ text: "heard ${{ user }}" }] }
---
kind: Ai.Tools
metadata: { name: Tools }
tools: [{ tool: !ref Echo, name: echo, parameters: { type: object } }]
---
kind: Ai.Agent
metadata: { name: Main }
model:
  kind: Ai.ScriptedModel
  turns:
    - toolCalls: [{ name: echo, arguments: { prompt: "${{ secrets.token }}" } }]
    - text: "the token is ${{ secrets.token }}"
toolProviders: [{ provider: !ref Tools }]
---
kind: Ai.Task
metadata: { name: Fail }
agent: !ref Echo
prompt: hi
expect: { that: [!cel "result.text == 'bye'"] }
---
kind: Runtime.Application
metadata: { name: App }
secrets: { token: { env: TOKEN } }
targets: [!ref Main, !ref Fail]
"""
TOKEN = "s3cr3t-77aa41"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def apply(tmp_path: Path) -> Any:
    (tmp_path / "app.yaml").write_text(MANIFEST)

    def do(*words: str) -> Any:
        return run(tmp_path, "apply", "app.yaml", "--quiet", *words, TOKEN=TOKEN)

    return do


def read(text: str) -> list[dict[str, Any]]:
    """The lines, once their times are checked and taken off."""
    lines = [json.loads(line) for line in text.splitlines()]
    times = [line.pop("time") for line in lines]
    assert all(map(TIME.fullmatch, times))
    assert times == sorted(times)
    for line in lines:
        line.pop("durationMs", None)
    return lines


def test_a_trace_keeps_every_event_with_its_time_for_its_owner_alone(apply: Any, tmp_path: Path) -> None:
    file = tmp_path / "trace.ndjson"
    file.write_text("old")
    file.chmod(0o644)

    ended = apply("--agent", "Main", "--prompt", "go", "--trace", "trace.ndjson")

    lines = read(file.read_text())
    assert (ended.code, ended.out) == (0, "the token is ***\n")
    assert {line.pop("target") for line in lines} == {"Main"}
    assert [line["type"] for line in lines if line["type"] != "text-delta"] == [
        "start",
        "tool-call",
        "tool-result",
        "finish",
    ]
    assert lines[0] == {"type": "start", "inputs": {"prompt": "go"}}
    assert lines[1] == {"type": "tool-call", "id": "call_1_0", "name": "echo", "arguments": {"prompt": "***"}}
    assert lines[2]["content"] == "heard ***"
    assert lines[-1]["text"] == "the token is ***"
    assert TOKEN not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_trace_has_what_several_targets_did_and_how_they_failed(apply: Any, tmp_path: Path) -> None:
    ended = apply("--output", "json", "--trace", "trace.ndjson", "--input", "prompt=go")

    lines = read((tmp_path / "trace.ndjson").read_text())
    assert json.loads(ended.out)["Main"]["result"]["text"] == "the token is ***"
    told = [(line["type"], line.get("text", line.get("code"))) for line in lines if line["target"] == "Fail"]
    assert told == [
        ("start", None),
        ("text-delta", "heard"),
        ("text-delta", " hi"),
        ("error", "ERR_EXPECTATION"),
    ]
    assert [line["type"] for line in lines if line["target"] == "Main"][-1] == "finish"


def test_a_trace_has_what_the_agent_of_a_task_did(apply: Any, tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(MANIFEST.replace("'bye'", "'heard hi'"))

    ended = apply("--agent", "Fail", "--trace", "trace.ndjson")

    lines = read((tmp_path / "trace.ndjson").read_text())
    assert ended.out == "heard hi\n"
    assert [line["type"] for line in lines] == ["start", "text-delta", "text-delta", "finish"]
    assert (lines[-1]["text"], lines[-1]["finishReason"]) == ("heard hi", "stop")


def test_a_trace_has_the_result_of_what_tells_no_events(tmp_path: Path) -> None:
    (tmp_path / "adding.py").write_text("def add(a: int, b: int) -> int:\n    return a + b\n")
    (tmp_path / "app.yaml").write_text(
        "kind: Runtime.Application\nmetadata: { name: App }\nimports: { adding: ./adding.py }\n---\n"
        'kind: Python.Function\nmetadata: { name: Add }\nfunction: "adding:add"\n'
    )

    run(
        tmp_path, "apply", "app.yaml", "--agent", "Add", "--input", "a:=2", "--input", "b:=3", "--trace", "trace.ndjson"
    )

    start, result = read((tmp_path / "trace.ndjson").read_text())
    assert start == {"target": "Add", "type": "start", "inputs": {"a": 2, "b": 3}}
    assert result == {"target": "Add", "type": "result", "result": 5}


def test_events_on_standard_output_have_their_times_too(apply: Any) -> None:
    ended = apply("--agent", "Main", "--prompt", "go", "--output", "events")

    lines = read(ended.out)
    assert [line["type"] for line in lines if line["type"] != "text-delta"] == ["tool-call", "tool-result", "finish"]
    assert lines[-1]["text"] == "the token is ***"
    assert TOKEN not in ended.out


@pytest.mark.parametrize("place", ["gone/trace", "link"])
def test_a_trace_that_cannot_be_written_is_wrong_usage(apply: Any, tmp_path: Path, place: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")

    ended = apply("--agent", "Main", "--prompt", "go", "--trace", place)

    assert (ended.code, ended.out) == (2, "")
    assert f'the trace cannot be written to "{place}"' in ended.err
    assert not (tmp_path / "elsewhere").exists()


KEPT = """\
kind: Ai.Task
metadata: { name: Write }
agent: { kind: Ai.Agent, model: { kind: Ai.ScriptedModel, turns: [{ text: draft }] } }
prompt: go
durable: { store: { kind: Durable.Store } }
expect: { that: [!cel "result.text == 'EXPECTED'"] }
"""


@pytest.mark.parametrize(("expected", "code", "last"), [("draft", 0, "finish"), ("done", 5, "error")])
def test_a_task_that_is_kept_tells_what_its_agent_does_and_did(
    expected: str, code: int, last: str, tmp_path: Path
) -> None:
    (tmp_path / "app.yaml").write_text(KEPT.replace("EXPECTED", expected))
    words = ("apply", "app.yaml", "--agent", "Write", "--run-id", "one", "--quiet", "--output", "events")

    ended = run(tmp_path, *words)
    again = run(tmp_path, *words)

    assert (ended.code, again.code) == (code, code), (ended.err, again.err)
    assert [line["type"] for line in read(ended.out)] == ["text-delta", last]
    assert read(again.out)[-1] == read(ended.out)[-1]
