"""`runtime serve`: calls of tools that somebody has to approve, decided over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import SECRET, Served, serving

MANIFEST = """
kind: Ai.Tools
metadata: { name: Shop }
tools:
  - tool: { kind: Ai.Agent, model: { kind: Ai.ScriptedModel, rules: [{ text: ordered }] } }
    name: order
    description: Orders something.
    parameters: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
---
kind: Ai.Agent
metadata: { name: Buyer }
model:
  kind: Ai.ScriptedModel
  rules:
    - when: { toolResult: ".+" }
      text: "${{ result }}"
    - toolCalls: [{ id: a/b, name: order, arguments: { prompt: "${{ secrets.word }}" } }]
toolProviders: [{ provider: !ref Shop }]
requireApproval: [order]
"""
REFUSED = 'the call of the tool "order" was not approved'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("approvals")
    (folder / "shop.yaml").write_text(MANIFEST)
    with serving(folder, "shop.yaml", WORD=SECRET) as served:
        yield served


def begin(served: Served) -> str:
    answer = served.client.post("/runs", json={"target": "Buyer", "inputs": {"prompt": "chairs"}})
    return str(answer.json()["id"])


def events(stream: httpx2.Response) -> Iterator[dict[str, Any]]:
    for line in stream.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def until_asked(found: Iterator[dict[str, Any]]) -> dict[str, Any]:
    return next(event for event in found if event["type"] == "approval")


def decide(served: Served, run: str, call: str, **answer: object) -> httpx2.Response:
    return served.client.post(f"/runs/{run}/approvals/{call}", json=answer)


def test_a_call_waits_until_somebody_approves_it(served: Served) -> None:
    run = begin(served)
    with served.client.stream("GET", f"/runs/{run}/events") as stream:
        found = events(stream)
        asked = until_asked(found)
        shown = {key: value for key, value in asked.items() if key != "type"}
        assert shown == {"id": asked["id"], "agent": "Buyer", "name": "order", "arguments": {"prompt": "***"}}
        assert served.client.get(f"/runs/{run}").json()["approvals"] == [shown]

        answer = decide(served, run, asked["id"], approved=True)

        decided = {"id": asked["id"], "approved": True, "reason": ""}
        assert (answer.status_code, answer.json()) == (200, decided)
        assert next(found) == {"type": "approval-decided", **decided}
        assert [event["content"] for event in found if event.get("type") == "tool-result"] == ["ordered"]
    shown = served.client.get(f"/runs/{run}").json()
    assert (shown["result"]["text"], "approvals" in shown) == ("ordered", False)


def test_the_model_reads_why_a_call_was_refused(served: Served) -> None:
    run = begin(served)
    with served.client.stream("GET", f"/runs/{run}/events") as stream:
        found = events(stream)
        asked = until_asked(found)
        decide(served, run, asked["id"], approved=False, reason="ten are enough")
        end = next(event for event in found if event["type"] == "finish")

    assert end["text"] == f"{REFUSED}: ten are enough"
    again = decide(served, run, asked["id"], approved=True)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "ERR_SERVE_DECIDED")


def test_what_nobody_asked_cannot_be_decided(served: Served) -> None:
    run = begin(served)
    with served.client.stream("GET", f"/runs/{run}/events") as stream:
        until_asked(events(stream))
        assert decide(served, run, "another", approved=True).status_code == 404
        assert decide(served, "run_none", "another", approved=True).status_code == 404
        assert decide(served, run, "another", reason="hm").status_code == 400
        served.client.delete(f"/runs/{run}")


def test_a_run_that_is_stopped_waits_no_longer(served: Served) -> None:
    run = begin(served)
    with served.client.stream("GET", f"/runs/{run}/events") as stream:
        asked = until_asked(events(stream))
    served.client.delete(f"/runs/{run}")

    assert served.client.get(f"/runs/{run}/events").text.endswith('data: {"status":"cancelled"}\n\n')
    assert decide(served, run, asked["id"], approved=True).status_code == 409


def test_chats_have_nobody_to_ask(served: Served) -> None:
    body = {"model": "Buyer", "messages": [{"role": "user", "content": "chairs"}]}
    answer = served.client.post("/v1/chat/completions", json=body)

    assert answer.json()["choices"][0]["message"]["content"] == f"{REFUSED}: there is nobody to ask"


def test_a_call_that_nobody_decides_on_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(MANIFEST)
    with serving(tmp_path, "shop.yaml", "--approval-seconds", "1", WORD=SECRET) as served:
        inputs = {"target": "Buyer", "inputs": {"prompt": "chairs"}, "wait": True}
        text = served.client.post("/runs", json=inputs).json()["result"]["text"]

    assert text == f"{REFUSED}: nobody decided within 1 s"
