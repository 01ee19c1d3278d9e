"""`runtime serve`: a new set takes the place of the old one, and only what differs is touched."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from command import LIMIT, left_behind
from serving import Gate, Served, gated, serving

STDIO = str(Path(__file__).parents[1] / "servers/stdio.py")
SERVER = """
kind: Mcp.StdioClient
metadata: {{ name: {name} }}
command: "{python}"
args: ["{server}", "{name}"]
---
kind: AiMcp.ToolProvider
metadata: {{ name: {name}Tools }}
client: !ref {name}
---
"""
AGENT = """
kind: Ai.ScriptedModel
metadata: {{ name: Model }}
turns: [{{ text: "{text}" }}]
---
kind: Ai.Agent
metadata: {{ name: Clock }}
model: !ref Model
system: "{system}"
toolProviders: [{providers}]
"""


def write_set(folder: Path, *servers: str, text: str = "hello", system: str = "") -> None:
    providers = ", ".join(f"{{ provider: !ref {name}Tools, prefix: {name}_ }}" for name in servers)
    agent = AGENT.format(text=text, system=system, providers=providers)
    parts = [SERVER.format(name=name, python=sys.executable, server=STDIO) for name in servers]
    (folder / "clock.yaml").write_text("".join(parts) + agent)


def servers_of(served: Served) -> set[int]:
    """The processes of MCP servers."""
    found = set()
    for child in psutil.Process(served.process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if child.cmdline()[1:2] == [STDIO]:
                found.add(child.pid)
    return found


def ask(served: Served) -> str:
    answer = served.client.post("/runs", json={"target": "Clock", "inputs": {"prompt": "hi"}, "wait": True})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["result"]["text"])


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    write_set(tmp_path, "One", "Two")
    with serving(tmp_path, "clock.yaml") as served:
        yield served


def test_a_changed_prompt_restarts_no_server(service: Served, tmp_path: Path) -> None:
    before = servers_of(service)
    write_set(tmp_path, "One", "Two", system="be brief")
    answer = service.client.post("/apply", json={})

    assert answer.json() == {
        "started": [],
        "changed": ["Clock"],
        "stopped": [],
        "kept": ["Model", "One", "OneTools", "Two", "TwoTools"],
    }
    assert (servers_of(service), len(before) >= 2) == (before, True)


def test_a_removed_server_stops_and_the_others_go_on(service: Served, tmp_path: Path) -> None:
    before = servers_of(service)
    write_set(tmp_path, "One")
    service.process.send_signal(signal.SIGHUP)
    told = service.expect("applied: ")

    assert told == "applied: changed Clock; stopped Two, TwoTools; 3 as they were"
    after = servers_of(service)
    end = time.monotonic() + LIMIT
    while len(after) == len(before) and time.monotonic() < end:  # the old set goes down on its own
        after = servers_of(service)
    assert after < before


@pytest.mark.parametrize(
    ("text", "code"),
    [("kind: Ai.Agent\nmetadata: { name: Clock }\nmodel: !ref Nobody\n", "REF_UNRESOLVED"), ("kind: [", "YAML_SYNTAX")],
)
def test_a_faulty_set_changes_nothing_and_says_why(service: Served, tmp_path: Path, text: str, code: str) -> None:
    before = servers_of(service)
    (tmp_path / "clock.yaml").write_text(text)
    answer = service.client.post("/apply", json={})

    assert answer.status_code == 422
    assert [found["code"] for found in answer.json()["diagnostics"]] == [code]
    assert (ask(service), servers_of(service)) == ("hello", before)


def test_a_set_that_does_not_come_up_changes_nothing(service: Served, tmp_path: Path) -> None:
    before = servers_of(service)
    write_set(tmp_path, "One", "Two", "Three", text="new")
    file = tmp_path / "clock.yaml"
    command = f'command: "{sys.executable}"\nargs: ["{STDIO}", "Three"]'
    file.write_text(file.read_text().replace(command, "command: nope"))
    answer = service.client.post("/apply", json={})

    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "ERR_MCP_SPAWN")
    assert (ask(service), servers_of(service)) == ("hello", before)


def test_a_watched_set_is_applied_when_a_file_changes(tmp_path: Path) -> None:
    write_set(tmp_path)
    with serving(tmp_path, "clock.yaml", "--watch") as served:
        write_set(tmp_path, text="kind: [")
        (tmp_path / "clock.yaml").write_text("kind: [")
        served.expect("not applied: the manifest set has 1 error")
        assert ask(served) == "hello"
        write_set(tmp_path, text="good evening")
        served.expect("applied: changed Model, Clock")
        assert ask(served) == "good evening"


def test_an_edit_of_an_imported_kind_is_a_change_and_a_faulty_one_changes_nothing(tmp_path: Path) -> None:
    with gated(tmp_path, "--watch") as (served, gate):
        kind = tmp_path / "gate/tool_provider.py"
        text = kind.read_text()
        for word in ("open", "shut", "ajar"):  # texts of one length, within one second
            kind.write_text(text.replace(".decode()", f'.decode() + " {word}"'))
            served.expect("applied: changed Tools, Porter")
            name = served.run_gated()
            gate.wait_for_call().sendall(b"it is")
            served.client.get(f"/runs/{name}/events")
            assert served.client.get(f"/runs/{name}").json()["result"]["text"] == f"the gate said it is {word}"
        kind.write_text("import nothing_of_that_name")
        served.expect("not applied: the manifest set has 1 error")
        kind.write_text(text)
        served.expect("applied: changed Tools, Porter")


def test_a_run_that_is_under_way_finishes_on_the_old_set(tmp_path: Path) -> None:
    with gated(tmp_path) as (served, gate):
        name = served.run_gated()
        tool = gate.wait_for_call()
        rename(tmp_path, gate, "the gate said", "the door said")
        assert served.client.post("/apply", json={}).json()["changed"] == ["Model", "Porter"]
        second = served.run_gated()
        gate.wait_for_call().sendall(b"new")
        served.client.get(f"/runs/{second}/events")
        tool.sendall(b"old")
        served.client.get(f"/runs/{name}/events")
        texts = [served.client.get(f"/runs/{each}").json()["result"]["text"] for each in (name, second)]
        served.process.send_signal(signal.SIGTERM)
        code = served.process.wait()

    assert (texts, code, left_behind(tmp_path)) == (["the gate said old", "the door said new"], 0, [])


def rename(folder: Path, gate: Gate, old: str, new: str) -> None:
    file = folder / "gated.yaml"
    file.write_text(file.read_text().replace(old, new))
