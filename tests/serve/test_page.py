"""`runtime serve`: the page, and what it shows."""

import base64
import hashlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import httpx2
import pytest
from command import LIMIT
from serving import SECRET, Served, gated

TOKEN = "a-token-for-the-tests"
SLOW = '''
"""`Gate.SlowProvider`: is up when somebody says so."""

from contextlib import asynccontextmanager

import anyio

from runtime import Kind, kind
from runtime.ai import ToolProvider


@kind("Gate.SlowProvider", implements=ToolProvider)
class SlowProvider(Kind):
    """Is up when somebody says so."""

    port: int

    @asynccontextmanager
    async def open(self, context):
        async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
            await stream.receive(100)
        yield self

    async def list_tools(self):
        return []
'''
SOURCES = Path(__file__).parents[2] / "runtime/serve/page"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with gated(tmp_path, RUNTIME_SERVE_TOKEN=TOKEN) as (served, _):
        yield served


def ask(served: Served, path: str, **params: str) -> httpx2.Response:
    return served.client.get(path, params=params, headers={"authorization": f"Bearer {TOKEN}"})


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_page_is_whole_in_itself_and_runs_no_other_script(service: Served) -> None:
    answer = service.client.get("/")

    [script] = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    policy = answer.headers["content-security-policy"].split("; ")
    assert (answer.status_code, policy[:3]) == (
        200,
        ["default-src 'none'", f"script-src {digest(script)}", f"style-src {digest(style)}"],
    )
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", answer.text) == []
    assert [name for name in ("innerHTML", "document.write", "eval(", "unsafe") if name in answer.text] == []
    assert [file.name for file in SOURCES.glob("*.js") if file.read_text(encoding="utf-8") not in script] == []


def test_the_graph_has_every_resource_with_its_state(service: Served) -> None:
    found = ask(service, "/graph").json()

    assert service.client.get("/graph").status_code == 401
    assert [(each["name"], each["kind"], each["role"], each["status"], each["needs"]) for each in found["nodes"]] == [
        ("Model", "Ai.ScriptedModel", "model", "ready", []),
        ("Tools", "Gate.ToolProvider", "tools", "ready", []),
        ("Porter", "Ai.Agent", "agent", "ready", [0, 1]),
    ]
    assert found["agents"] == [{"name": "Porter", "description": "Asks the agent Porter.", "tools": 1}]
    boxes = ElementTree.fromstring(found["picture"]).iter("{http://www.w3.org/2000/svg}a")
    assert [(box.get("href"), box.get("aria-label")) for box in boxes] == [
        ("#/resources/0", "Model, Ai.ScriptedModel, ready"),
        ("#/resources/1", "Tools, Gate.ToolProvider, ready"),
        ("#/resources/2", "Porter, Ai.Agent, ready"),
    ]


def test_the_tools_of_an_agent_come_with_what_a_format_makes_of_them(service: Served) -> None:
    answer = ask(service, "/agents/Porter/tools", format="anthropic").json()

    parameters = {"type": "object", "properties": {}}
    assert answer == {
        "agent": "Porter",
        "format": "anthropic",
        "tools": [
            {
                "name": "wait",
                "description": "Waits.",
                "parameters": parameters,
                "provider": "Tools",
                "tool": "wait",
                "needsApproval": False,
                "sent": {"name": "wait", "description": "Waits.", "input_schema": {**parameters, "required": []}},
                "entries": [],
                "renames": [],
            }
        ],
    }
    assert ask(service, "/agents/Porter/tools", format="none").status_code == 400
    assert ask(service, "/agents/Nobody/tools").status_code == 404


def test_who_waits_for_another_state_is_told_when_it_is_there(service: Served, tmp_path: Path) -> None:
    first = ask(service, "/graph").json()
    answers: list[int] = []
    waiting = threading.Thread(
        target=lambda: answers.append(ask(service, "/graph", after=first["version"]).json()["set"])
    )
    waiting.start()
    file = tmp_path / "gated.yaml"
    file.write_text(file.read_text().replace("hello", "good evening"))
    applied = service.client.post("/apply", json={}, headers={"authorization": f"Bearer {TOKEN}"})
    waiting.join(LIMIT)

    assert (applied.status_code, answers) == (200, [first["set"] + 1])


def test_what_is_started_in_the_place_of_another_one_is_told_meanwhile(tmp_path: Path) -> None:
    with gated(tmp_path) as (served, gate):
        (tmp_path / "gate/slow_provider.py").write_text(SLOW)
        file = tmp_path / "gated.yaml"
        file.write_text(file.read_text().replace("Gate.ToolProvider", "Gate.SlowProvider"))
        applying = threading.Thread(target=lambda: served.client.post("/apply", json={}))
        applying.start()
        starting = gate.wait_for_call()
        meanwhile = served.client.get("/graph").json()
        starting.sendall(b"go on")
        applying.join(LIMIT)
        then = served.client.get("/graph").json()

    assert [each["status"] for each in meanwhile["nodes"]] == ["ready", "starting", "ready"]
    assert [(each["kind"], each["status"]) for each in then["nodes"]] == [
        ("Ai.ScriptedModel", "ready"),
        ("Gate.SlowProvider", "ready"),
        ("Ai.Agent", "ready"),
    ]


def test_a_set_that_does_not_come_up_is_told_with_the_resource_at_fault(service: Served, tmp_path: Path) -> None:
    file = tmp_path / "gated.yaml"
    lost = "---\nkind: Mcp.StdioClient\nmetadata: { name: Lost }\ncommand: /there/is/no/such/program\n"
    provider = "provider: { kind: AiMcp.ToolProvider, client: !ref Lost }, prefix: l_"
    file.write_text(file.read_text().replace("[{ provider:", f"[{{ {provider} }}, {{ provider:") + lost)
    service.client.post("/apply", json={}, headers={"authorization": f"Bearer {TOKEN}"})

    problem = ask(service, "/manifests").json()["problem"]
    assert (problem["code"], problem["resource"]) == ("ERR_MCP_SPAWN", "Lost")
    assert ask(service, "/graph").json()["reading"] == {"number": 2, "errors": 0, "warnings": 0, "isApplied": False}


def test_the_manifests_are_told_as_they_were_read_last_without_secrets(service: Served, tmp_path: Path) -> None:
    file = tmp_path / "gated.yaml"
    text = file.read_text()
    escaped = "sk-proj-" + r"\x41b3" * 10
    bad = text.replace("text: hello", f'text: "{escaped} {SECRET}"').replace("!ref Model", "!ref Modell")
    before = ask(service, "/manifests").json()
    file.write_text(bad)
    applied = service.client.post("/apply", json={}, headers={"authorization": f"Bearer {TOKEN}"})
    after = ask(service, "/manifests").json()

    assert before == {"number": 1, "files": [{"name": "gated.yaml", "lines": text.split("\n"), "findings": []}]}
    assert (applied.status_code, after["number"], after["problem"]["code"]) == (422, 2, "ERR_MANIFEST_INVALID")
    [shown] = after["files"]
    lines = bad.split("\n")
    secret, broken = (next(n for n, line in enumerate(lines) if part in line) for part in (SECRET, "Modell"))
    found = [(each["line"], each["severity"], each["code"]) for each in shown["findings"]]
    assert found == [(secret + 1, "warning", "SECRET_LITERAL"), (broken + 1, "error", "REF_UNRESOLVED")]
    assert re.fullmatch(r"  - text: \**( \**)?", shown["lines"][secret])
    assert shown["lines"][:secret] + shown["lines"][secret + 1 :] == lines[:secret] + lines[secret + 1 :]


def test_a_run_is_told_as_spans_of_time(tmp_path: Path) -> None:
    with gated(tmp_path) as (served, gate):
        run = served.run_gated()
        knocking = gate.wait_for_call()
        under_way = served.client.get(f"/runs/{run}/timeline").json()
        knocking.sendall(b"enter")
        served.client.get(f"/runs/{run}/events")
        over = served.client.get(f"/runs/{run}/timeline").json()

    assert [(span["kind"], span["name"], "end" in span) for span in under_way["spans"]] == [
        ("model", "turn 1", True),
        ("tool", "wait", False),
    ]
    turn, call, answer = over["spans"]
    assert [(span["kind"], span["name"], span["turn"]) for span in over["spans"]] == [
        ("model", "turn 1", 1),
        ("tool", "wait", 1),
        ("model", "turn 2", 2),
    ]
    assert 0 == turn["start"] <= turn["first"] <= turn["end"] <= call["end"] <= answer["end"] <= over["seconds"]
    assert call["isError"] is False
