"""`runtime serve`: sessions, which remember what was said."""

import signal
from pathlib import Path

from serving import SECRET, gated, serving

MANIFEST = """
kind: Ai.ScriptedModel
metadata: { name: Model }
turns:
  - text: "first, ${{ secrets.word }}"
  - text: second
  - text: third
---
kind: Ai.Agent
metadata: { name: Counter }
model: !ref Model
"""


def test_a_session_goes_on_after_the_service_was_ended(tmp_path: Path) -> None:
    (tmp_path / "counter.yaml").write_text(MANIFEST)
    texts = []
    for _ in range(2):
        with serving(tmp_path, "counter.yaml", WORD=SECRET) as served:
            for session in ("kitchen", "garden"):
                body = {"target": "Counter", "inputs": {"prompt": "and?"}, "session": session, "wait": True}
                answer = served.client.post("/runs", json=body)
                texts.append((session, answer.json()["result"]["text"]))
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait() == 0

    file = tmp_path / ".runtime/sessions.db"
    assert texts == [("kitchen", "first, ***"), ("garden", "first, ***"), ("kitchen", "second"), ("garden", "second")]
    assert (file.stat().st_mode & 0o777, SECRET.encode() in file.read_bytes()) == (0o600, False)


def test_a_session_has_one_run_at_a_time(tmp_path: Path) -> None:
    with gated(tmp_path) as (served, gate):
        body = {"target": "Porter", "inputs": {"prompt": "gate"}, "session": "door"}
        first = served.client.post("/runs", json=body)
        tool = gate.wait_for_call()
        second = served.client.post("/runs", json=body)
        tool.sendall(b"done")
        served.client.get(f"/runs/{first.json()['id']}/events")
        third = served.client.post("/runs", json={**body, "inputs": {"prompt": "hi"}, "wait": True})

    assert (second.status_code, second.json()["error"]["code"]) == (409, "ERR_SERVE_SESSION_BUSY")
    assert (third.status_code, third.json()["session"]) == (200, "door")


def test_what_is_no_session_is_refused(tmp_path: Path) -> None:
    with gated(tmp_path) as (served, _):
        odd = {"target": "Porter", "inputs": {"prompt": "hi"}, "session": "../up"}
        messages = {"target": "Porter", "inputs": {"messages": []}, "session": "a", "wait": True}
        answers = [served.client.post("/runs", json=body).status_code for body in (odd, messages)]

    assert answers == [400, 400]
