"""`runtime serve` with agents whose runs are kept: begun once for each key, told after a restart, left to others."""

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import LIMIT, left_behind
from serving import Served, serving

pytest.importorskip("dbos")

from durable.fleet import Fleet  # needs what the line above asks for

pytestmark = pytest.mark.anyio
PLAIN = "---\nkind: Ai.Agent\nmetadata: { name: Plain }\nmodel: { kind: Ai.ScriptedModel, turns: [{ text: hello }] }\n"


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    made = Fleet(tmp_path, "sqlite:///runs.db")
    with (tmp_path / "set.yaml").open("a", encoding="utf-8") as file:
        file.write(PLAIN)
    return made


@pytest.fixture
def gate() -> Iterator[socket.socket]:
    """Where calls of the tool `hold` knock."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(LIMIT)
        yield listener


def asked(prompt: str, **more: Any) -> dict[str, Any]:
    return {"target": "Clerk", "inputs": {"prompt": prompt}, **more}


def held(gate: socket.socket, **more: Any) -> dict[str, Any]:
    return asked(f"hold {gate.getsockname()[1]} held", **more)


def status(served: Served, run_id: str) -> tuple[int, str]:
    answer = served.client.get(f"/runs/{run_id}")
    return answer.status_code, answer.json().get("status", "")


def test_of_a_key_or_an_id_there_is_one_run(fleet: Fleet) -> None:
    with serving(fleet.folder, "set.yaml") as served:
        post = served.client.post
        key = {"Idempotency-Key": "order 7"}
        first = post("/runs", json=asked("note once", wait=True), headers=key)
        again = post("/runs", json=asked("note once", wait=True), headers=key)
        named = [post("/runs", json=asked("note named", id="order-8", wait=True)) for _ in range(2)]
        other = post("/runs", json=asked("note other", id="order-8"))
        both = post("/runs", json=asked("note both", id="order-9"), headers=key)
        wrong = post("/runs", json=asked("note wrong", id="../etc"))
        unkept = post("/runs", json={"target": "Plain", "inputs": {"prompt": "hi"}, "priority": 1})

    assert first.json()["result"]["text"] == "noted once"
    assert again.json() == first.json()
    assert [(each.status_code, each.json()["id"]) for each in named] == [(200, "order-8")] * 2
    assert (other.status_code, other.json()["error"]["code"]) == (422, "ERR_SERVE_KEY")
    assert [(each.status_code, each.json()["error"]["code"]) for each in (both, wrong, unkept)] == [
        (400, "ERR_SERVE_REQUEST")
    ] * 3
    assert [call.text for call in fleet.calls] == ["once", "named"]


def test_a_run_goes_on_and_is_told_after_its_service_was_killed(fleet: Fleet, gate: socket.socket) -> None:
    with serving(fleet.folder, "set.yaml") as served:
        done = served.client.post("/runs", json=asked("note done", id="done", wait=True)).json()
        assert served.client.post("/runs", json=held(gate, id="held")).status_code == 202
        connection, _ = gate.accept()
        served.process.send_signal(signal.SIGKILL)
        served.process.wait(LIMIT)
        connection.close()
    with serving(fleet.folder, "set.yaml") as served:
        connection, _ = gate.accept()
        listed = {run["id"]: run["status"] for run in served.client.get("/runs").json()["runs"]}
        reused = served.client.post("/runs", json=asked("note done", id="held"))
        connection.close()
        waited = served.client.post("/runs", json=held(gate, id="held", wait=True)).json()
        told = served.client.get("/runs/done").json()
        unknown = status(served, "nothing")

    assert listed == {"done": "finished", "held": "running"}
    assert (reused.status_code, reused.json()["error"]["code"]) == (422, "ERR_SERVE_KEY")
    assert (waited["status"], waited["result"]["text"]) == ("finished", "noted held")
    assert (told["status"], told["result"]) == ("finished", done["result"])
    assert unknown == (404, "")
    assert [(call.text, call.attempt) for call in fleet.calls if call.attempt == 1] == [("done", 1), ("held", 1)]


def test_a_service_may_leave_its_runs_to_workers(fleet: Fleet) -> None:
    with serving(fleet.folder, "set.yaml", "--concurrency", "0") as served:
        for name, priority in (("later", 9), ("sooner", 1)):
            queued = served.client.post("/runs", json=asked(f"note {name}", id=name, priority=priority))
            assert (queued.status_code, queued.json()["id"]) == (202, name)
        with fleet.worker("--concurrency", "1") as worker:
            waited = served.client.post("/runs", json=asked("note later", id="later", wait=True)).json()
            fleet.wait_until(lambda: len(worker.ended) == 2)
            events = served.client.get("/runs/sooner/events").text

    assert waited["result"]["text"] == "noted later"
    assert worker.ended == {"sooner": "finished", "later": "finished"}
    assert [call.text for call in fleet.calls] == ["sooner", "later"]
    assert json.loads(events.split("data: ")[-1]) == {"status": "finished"}


async def test_a_run_is_cancelled_wherever_it_is(fleet: Fleet, gate: socket.socket) -> None:
    with serving(fleet.folder, "set.yaml") as served:
        served.client.post("/runs", json=held(gate, id="held"))
        connection, _ = gate.accept()
        stopped = served.client.delete("/runs/held")
        connection.close()
        served.client.post("/runs", json=asked("note done", id="done", wait=True))
        over = served.client.delete("/runs/done")
    with serving(fleet.folder, "set.yaml", "--concurrency", "0") as served:
        served.client.post("/runs", json=asked("note queued", id="queued"))
        again = served.client.delete("/runs/queued")
        told = status(served, "held")

    assert (stopped.status_code, over.status_code, again.status_code) == (202, 409, 202)
    assert told == (200, "cancelled")
    assert {run.id: run.state for run in await fleet.list()} == {
        "held": "cancelled",
        "done": "finished",
        "queued": "cancelled",
    }


async def test_a_service_that_ends_leaves_what_is_not_done_to_others(fleet: Fleet, gate: socket.socket) -> None:
    with serving(fleet.folder, "set.yaml", "--drain-seconds", "0") as served:
        served.client.post("/runs", json=held(gate, id="held"))
        connection, _ = gate.accept()
        served.process.send_signal(signal.SIGTERM)

        assert served.process.wait(LIMIT) == 0
        assert left_behind(fleet.folder) == []
        connection.close()

    assert {run.id: run.state for run in await fleet.list()} == {"held": "interrupted"}


def test_a_chat_with_wishes_of_its_caller_is_answered_and_not_kept(fleet: Fleet) -> None:
    messages = [{"role": "user", "content": "note wished"}]
    with serving(fleet.folder, "set.yaml") as served:
        body = {"model": "Clerk", "messages": messages, "temperature": 0.5, "max_tokens": 50}
        answer = served.client.post("/v1/chat/completions", json=body)

    assert answer.json()["choices"][0]["message"]["content"] == "noted wished"
