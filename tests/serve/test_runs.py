"""`runtime serve`: runs over plain HTTP."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import left_behind
from serving import SECRET, Gate, Served, gated, serving


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Gate]]:
    with gated(tmp_path_factory.mktemp("service")) as pair:
        yield pair


def read_events(text: str) -> list[tuple[int, dict[str, object]]]:
    """The numbered events of a stream."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":") and line)
        if "id" in fields:
            found.append((int(fields["id"]), json.loads(fields["data"])))
    return found


def test_a_run_that_is_waited_for_gives_its_answer(service: tuple[Served, Gate]) -> None:
    served, _ = service
    answer = served.client.post("/runs", json={"target": "Porter", "inputs": {"prompt": "hi"}, "wait": True})

    run = answer.json()
    assert (answer.status_code, run["status"], run["result"]["text"]) == (200, "finished", "hello")
    assert answer.headers["location"] == f"/runs/{run['id']}"
    assert served.client.get(f"/runs/{run['id']}").json()["result"] == run["result"]


def test_a_run_can_be_followed_while_it_goes_on_and_again_from_its_middle(service: tuple[Served, Gate]) -> None:
    served, gate = service
    name = served.run_gated()
    tool = gate.wait_for_call()
    assert served.client.get(f"/runs/{name}").json()["status"] == "running"
    with served.client.stream("GET", f"/runs/{name}/events") as stream:
        tool.sendall(b"come in")
        text = "".join(stream.iter_text())

    events = read_events(text)
    assert [event["type"] for _, event in events if event["type"] != "text-delta"] == [
        "tool-call",
        "tool-result",
        "finish",
    ]
    assert events[-1][1]["text"] == "the gate said come in"
    assert text.endswith('event: end\ndata: {"status":"finished"}\n\n')
    middle = events[len(events) // 2][0]
    again = served.client.get(f"/runs/{name}/events", headers={"last-event-id": str(middle)})
    assert read_events(again.text) == events[middle:]


def test_a_deleted_run_ends(service: tuple[Served, Gate]) -> None:
    served, gate = service
    name = served.run_gated()
    tool = gate.wait_for_call()
    assert served.client.delete(f"/runs/{name}").status_code == 202

    assert tool.recv(1) == b""
    assert served.client.get(f"/runs/{name}/events").text.endswith('data: {"status":"cancelled"}\n\n')
    assert served.client.delete(f"/runs/{name}").status_code == 409


def test_a_caller_who_waits_and_goes_away_ends_the_run(service: tuple[Served, Gate]) -> None:
    served, gate = service
    with served.client.stream(
        "POST",
        "/v1/chat/completions",
        json={"model": "Porter", "messages": [{"role": "user", "content": "gate"}], "stream": True},
    ):
        tool = gate.wait_for_call()
    assert tool.recv(1) == b""


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"target": "Nobody"}, 404, "ERR_SERVE_NOT_FOUND"),
        ({"target": "Porter", "inputs": {"promt": "x"}, "wait": True}, 400, "ERR_AGENT_INPUT"),
        ({"inputs": {}}, 400, "ERR_SERVE_REQUEST"),
        ({"target": "Porter", "more": 1}, 400, "ERR_SERVE_REQUEST"),
    ],
)
def test_a_request_that_does_not_fit_is_told_why(
    service: tuple[Served, Gate], body: object, status: int, code: str
) -> None:
    answer = service[0].client.post("/runs", json=body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_secrets_are_masked_in_answers_and_events(service: tuple[Served, Gate]) -> None:
    served, _ = service
    answer = served.client.post("/runs", json={"target": "Porter", "inputs": {"prompt": "secret"}, "wait": True})
    events = served.client.get(f"/runs/{answer.json()['id']}/events")

    assert answer.json()["result"]["text"] == "it is ***, yes"
    assert (SECRET in answer.text, SECRET in events.text) == (False, False)


def test_runs_that_are_under_way_finish_when_the_service_ends(tmp_path: Path) -> None:
    with gated(tmp_path) as (served, gate):
        name = served.run_gated()
        tool = gate.wait_for_call()
        with served.client.stream("GET", f"/runs/{name}/events") as stream:
            served.process.send_signal(signal.SIGTERM)
            served.expect("ending: 1 runs are under way")
            refused = served.client.post("/runs", json={"target": "Porter", "inputs": {"prompt": "hi"}})
            ready, health = served.client.get("/readyz"), served.client.get("/healthz")
            tool.sendall(b"good night")
            text = "".join(stream.iter_text())
        code = served.process.wait()

    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert (ready.status_code, health.status_code) == (503, 200)
    assert read_events(text)[-1][1]["text"] == "the gate said good night"
    assert (code, left_behind(tmp_path)) == (0, [])


def test_runs_that_outlast_the_drain_are_cancelled(tmp_path: Path) -> None:
    with gated(tmp_path, "--drain-seconds", "0") as (served, gate):
        served.run_gated()
        tool = gate.wait_for_call()
        served.process.send_signal(signal.SIGTERM)
        assert tool.recv(1) == b""
        assert served.process.wait() == 0


def test_more_runs_than_fit_are_turned_away(tmp_path: Path) -> None:
    with gated(tmp_path, "--max-runs", "1", "--max-queue", "1") as (served, gate):
        first, second = served.run_gated(), served.run_gated()
        tool = gate.wait_for_call()
        refused = served.client.post("/runs", json={"target": "Porter", "inputs": {"prompt": "hi"}})
        states = [served.client.get(f"/runs/{name}").json()["status"] for name in (first, second)]
        tool.sendall(b"next")
        gate.wait_for_call().sendall(b"done")
        served.client.get(f"/runs/{second}/events")
        taken = served.client.post("/runs", json={"target": "Porter", "inputs": {"prompt": "hi"}, "wait": True})

    assert (refused.status_code, refused.headers["retry-after"], states) == (429, "1", ["running", "queued"])
    assert refused.json()["error"]["code"] == "ERR_SERVE_BUSY"
    assert taken.status_code == 200


TASK = """
kind: Ai.Task
metadata: { name: Write }
agent: { kind: Ai.Agent, model: { kind: Ai.ScriptedModel, turns: [{ text: draft }] } }
prompt: go
retries: 1
expect: { that: [!cel "result.text == 'done'"] }
"""


def test_a_task_tells_what_its_agent_does_and_its_failure_once(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(TASK)
    with serving(tmp_path, "task.yaml") as served:
        name = served.client.post("/runs", json={"target": "Write"}).json()["id"]
        events = [event for _, event in read_events(served.client.get(f"/runs/{name}/events").text)]
        run = served.client.get(f"/runs/{name}").json()

    assert (run["status"], run["error"]["code"]) == ("failed", "ERR_EXPECTATION")
    assert [step["text"] for step in run["steps"]] == ["draft"]
    assert [event["type"] for event in events] == ["text-delta", "retry", "text-delta", "error"]
