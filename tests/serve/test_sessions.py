"""`runtime serve`: sessions, which remember what was said."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command import Ended, run
from postgres import Postgres, running_postgres
from serving import SECRET, Served, gated, serving

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


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


def count(served: Served, session: str) -> Any:
    body = {"target": "Counter", "inputs": {"prompt": "and?"}, "session": session, "wait": True}
    answer = served.client.post("/runs", json=body).json()
    return answer["result"]["text"] if "result" in answer else answer["error"]["code"]


def test_services_share_the_sessions_of_a_database(postgres: Postgres, tmp_path: Path) -> None:
    (tmp_path / "counter.yaml").write_text(MANIFEST)
    options = ("counter.yaml", "--sessions", postgres.url)
    with serving(tmp_path, *options, WORD=SECRET) as one, serving(tmp_path, *options, WORD=SECRET) as two:
        texts = [count(one, "shared"), count(two, "shared")]
        postgres.stop()
        broken = count(two, "shared")
        postgres.start()
        texts += [count(one, "other"), count(two, "shared")]

    assert (texts, broken) == (["first, ***", "second", "first, ***", "third"], "ERR_USAGE")
    with psycopg.connect(postgres.url) as database:
        rows = database.execute("SELECT agent, place, message FROM runtime_session_messages WHERE session = 'shared'")
        kept = sorted(rows.fetchall())
    assert ([row[:2] for row in kept], SECRET in str(kept)) == ([("Counter", place) for place in range(6)], False)
    assert not (tmp_path / ".runtime").exists()


def test_a_session_has_one_run_among_services_until_the_one_that_has_it_dies(
    postgres: Postgres, tmp_path: Path
) -> None:
    with gated(tmp_path, RUNTIME_SERVE_SESSIONS=postgres.url) as (one, gate):
        body = {"target": "Porter", "inputs": {"prompt": "gate"}, "session": "door", "wait": True}
        one.client.post("/runs", json={**body, "wait": False})
        gate.wait_for_call()
        with serving(tmp_path, "gated.yaml", "--sessions", postgres.url, WORD=SECRET) as two:
            busy = two.client.post("/runs", json=body)
            one.process.kill()
            one.process.wait()
            hello = two.client.post("/runs", json={**body, "inputs": {"prompt": "hi"}})
            while hello.status_code == 409:  # until the database has seen that the other one is gone
                hello = two.client.post("/runs", json={**body, "inputs": {"prompt": "hi"}})

    assert (busy.status_code, busy.json()["error"]["code"]) == (409, "ERR_SERVE_SESSION_BUSY")
    assert hello.json()["result"]["text"] == "hello"


def refuse(folder: Path, url: str) -> Ended:
    (folder / "counter.yaml").write_text(MANIFEST)
    return run(folder, "serve", "counter.yaml", "--port", "0", "--sessions", url, "--quiet", WORD=SECRET)


def test_a_database_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    ended = refuse(tmp_path, f"postgresql://me:{SECRET}@/nobody?host={tmp_path}")

    assert (ended.code, "the database of sessions does not do its work" in ended.err) == (2, True)
    assert SECRET not in ended.err


def test_a_url_that_names_no_store_is_refused(tmp_path: Path) -> None:
    ended = refuse(tmp_path, f"mysql://me:{SECRET}@host/base")

    assert (ended.code, "has to start with sqlite:/// or postgresql://" in ended.err) == (2, True)
    assert SECRET not in ended.err


def test_sessions_may_have_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "counter.yaml").write_text(MANIFEST)
    with serving(tmp_path, "counter.yaml", "--sessions", "sqlite:///kept/mine.db", WORD=SECRET) as served:
        texts = [count(served, "a"), count(served, "a")]

    assert (texts, (tmp_path / "kept/mine.db").exists()) == (["first, ***", "second"], True)
