"""`runtime serve`: the page, and what it shows."""

import base64
import hashlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from command import LIMIT
from serving import Served, gated

TOKEN = "a-token-for-the-tests"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with gated(tmp_path, RUNTIME_SERVE_TOKEN=TOKEN) as (served, _):
        yield served


def graph(served: Served, after: int = 0) -> httpx2.Response:
    return served.client.get("/graph", params={"after": after}, headers={"authorization": f"Bearer {TOKEN}"})


def test_the_page_is_whole_in_itself_and_runs_no_other_script(service: Served) -> None:
    answer = service.client.get("/")

    [script] = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert (answer.status_code, "default-src 'none'" in policy, f"'sha256-{digest}'" in policy) == (200, True, True)
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", answer.text) == []
    assert [name for name in ("innerHTML", "document.write", "eval(") if name in answer.text] == []


def test_the_graph_has_every_resource_and_the_tools_of_agents(service: Served) -> None:
    found = graph(service).json()

    assert service.client.get("/graph").status_code == 401
    assert [(node["name"], node["kind"], node["status"], node["needs"]) for node in found["nodes"]] == [
        ("Model", "Ai.ScriptedModel", "ready", []),
        ("Tools", "Gate.ToolProvider", "ready", []),
        ("Porter", "Ai.Agent", "ready", [0, 1]),
    ]
    [agent] = found["agents"]
    parameters = {"type": "object", "properties": {}}
    tool = {"name": "wait", "description": "Waits.", "parameters": parameters, "needsApproval": False}
    assert (agent["name"], agent["tools"]) == ("Porter", [tool])


def test_who_waits_for_another_set_is_told_when_it_is_there(service: Served, tmp_path: Path) -> None:
    first = graph(service).json()["version"]
    answers: list[int] = []
    waiting = threading.Thread(target=lambda: answers.append(graph(service, first).json()["version"]))
    waiting.start()
    file = tmp_path / "gated.yaml"
    file.write_text(file.read_text().replace("hello", "good evening"))
    applied = service.client.post("/apply", json={}, headers={"authorization": f"Bearer {TOKEN}"})
    waiting.join(LIMIT)

    assert (applied.status_code, answers) == (200, [first + 1])
