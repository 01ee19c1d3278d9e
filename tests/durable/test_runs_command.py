"""`runtime runs`: what a store keeps is listed, shown and decided on by a process that carries none of it on."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest
from command import Ended, environment

from runtime.cli.main import main

pytest.importorskip("dbos")

SCRIPT = Path(__file__).with_name("kept_runs.py")
STORE = "--store=sqlite:///runs.db"
Runs = Callable[..., Ended]
MANIFEST = "kind: Durable.Store\nmetadata: { name: Runs }\nurl: ${{ secrets.storeAddress }}\n"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store in which there is a run of each state."""
    folder = tmp_path_factory.mktemp("filled")
    done = subprocess.run([sys.executable, str(SCRIPT)], cwd=folder, env=environment(folder), timeout=60)
    assert done.returncode == 9
    return folder


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "store"))


@pytest.fixture
def runs(store: Path, capfd: pytest.CaptureFixture[str]) -> Runs:
    """`runtime runs` in the folder of the store, within this process: each import of DBOS is half a second."""

    def call(*arguments: str) -> Ended:
        with chdir(store):
            code = main(["runs", *arguments])
        out, err = capfd.readouterr()
        return Ended(code, out, err)

    return call


def states(runs: Runs, *arguments: str) -> dict[str, str]:
    ended = runs("list", STORE, "--output", "json", *arguments)
    assert ended.code == 0, ended.err
    return {each["id"]: each["state"] for each in json.loads(ended.out)["runs"]}


def test_a_table_has_a_line_for_each_run_and_the_newest_first(runs: Runs) -> None:
    ended = runs("list", STORE)

    rows = [re.split(" {2,}", line) for line in ended.out.splitlines()]
    assert [row[:4] for row in rows] == [
        ["RUN", "TARGET", "STATE", "ATTEMPTS"],
        ["died", "Asker", "interrupted", "1"],
        ["queued", "Teller", "queued", "0"],
        ["wait", "Asker", "waiting", "1"],
        ["fail", "Asker", "failed", "1"],
        ["finished", "Asker", "finished", "1"],
    ]
    assert (ended.code, ended.err) == (0, "")


def test_a_list_keeps_to_states_a_target_and_a_limit(runs: Runs) -> None:
    assert states(runs, "--state", "failed", "--state", "waiting") == {"wait": "waiting", "fail": "failed"}
    assert states(runs, "--target", "Teller") == {"queued": "queued"}
    assert states(runs, "--limit", "2") == {"died": "interrupted", "queued": "queued"}


def test_the_store_of_a_manifest_is_found_and_nothing_else_of_it_is_brought_up(
    runs: Runs, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE_ADDRESS", "sqlite:///runs.db")
    (store / "set.yaml").write_text(
        f"{MANIFEST}---\nkind: Mcp.StdioClient\nmetadata: {{ name: Gone }}\ncommand: no-such-program\n"
    )

    ended = runs("show", "finished", "set.yaml", "--output", "json")

    shown = json.loads(ended.out)
    step = shown["steps"].pop()
    times = [shown.pop(name) for name in ("created", "updated")]
    assert re.fullmatch(r"\d+-[0-9a-f]{12}", shown.pop("executor"))
    assert shown == {
        "id": "finished",
        "target": "Asker",
        "state": "finished",
        "digest": "d1",
        "attempts": 1,
        "inputs": {"do": "finish", "length": 200},
        "steps": [],
        "result": {"text": "done"},
        "store": "Runs",
    }
    assert (step["number"], step["name"], step["output"]) == (1, "model", {"text": "x" * 200})
    assert times == sorted(times)
    assert ended.code == 0


def test_what_a_manifest_lacks_is_told_before_the_store_is_asked(runs: Runs, store: Path) -> None:
    (store / "set.yaml").write_text(MANIFEST)

    ended = runs("list", "set.yaml")

    assert ended.code == 1
    assert "STORE_ADDRESS" in ended.err


def test_a_run_is_shown_with_its_steps_shortened_or_in_full(runs: Runs) -> None:
    short = runs("show", "finished", STORE).out
    full = runs("show", "finished", "--full", STORE).out

    assert re.search(r'^1 +model +\d\d:\d\d:\d\d +\d\.\d{3} +211 +\{"text":"x{49,50}…$', short, re.MULTILINE)
    assert f'{{"text":"{"x" * 200}"}}' in full


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("wait", "runtime runs resume wait set.yaml --uncertain retry  makes the call again"),
        ("died", 'no process that lives carries it on: bring "Asker" up, such as with runtime worker set.yaml'),
        ("queued", 'it is taken up by a process that has "Teller" up, such as runtime worker set.yaml'),
        ("fail", "error     the model is gone [ERR_MODEL_GONE]"),
    ],
)
def test_a_run_that_does_not_go_on_says_what_can_be_done_about_it(
    name: str, expected: str, runs: Runs, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE_ADDRESS", "sqlite:///runs.db")
    (store / "set.yaml").write_text(MANIFEST)

    ended = runs("show", name, "set.yaml")

    assert expected in ended.out


def test_a_run_that_waits_for_a_decision_is_resumed_by_one(runs: Runs) -> None:
    refused = runs("resume", "wait", STORE)
    resumed = runs("resume", "wait", STORE, "--uncertain", "retry")

    assert (refused.code, refused.out) == (2, "")
    assert 'hint: add "--uncertain retry", "skip" or "fail"' in refused.err
    assert resumed == Ended(0, "wait resumed: queued\n", "")


def test_a_decision_is_refused_where_there_is_nothing_to_decide(runs: Runs) -> None:
    ended = runs("resume", "fail", STORE, "--uncertain", "retry")

    assert ended.code == 2
    assert 'the run "fail" waits for no decision on a call: it is failed [ERR_USAGE]' in ended.err


def test_interrupted_and_failed_runs_are_queued_again(runs: Runs) -> None:
    for name in ("died", "fail"):
        assert runs("resume", name, STORE) == Ended(0, f"{name} resumed: queued\n", "")

    assert states(runs, "--state", "queued") == {"died": "queued", "queued": "queued", "fail": "queued"}


def test_a_run_is_cancelled_once_and_a_finished_one_never(runs: Runs) -> None:
    assert runs("cancel", "queued", STORE) == Ended(0, "queued cancelled\n", "")
    refused = runs("cancel", "finished", STORE)

    assert states(runs, "--state", "cancelled") == {"queued": "cancelled"}
    assert (refused.code, refused.out) == (4, "")
    assert refused.err.startswith('error: the run "finished" has finished, and cannot be cancelled [ERR_DURABLE_STATE]')


def test_a_fork_is_a_queued_run_of_its_own(runs: Runs) -> None:
    forked = runs("fork", "finished", "--from", "1", "--id", "again", STORE)
    shown = json.loads(runs("show", "again", STORE, "--output", "json").out)
    wrong = runs("fork", "finished", "--from", "7", STORE)

    assert forked == Ended(0, "again forked: queued\n", "")
    assert (shown["forkedFrom"], shown["state"], shown["steps"]) == ("finished", "queued", [])
    assert wrong.code == 4
    assert 'the run "finished" has no step 7, the last is 1 [ERR_DURABLE_STEP]' in wrong.err


def test_a_run_that_no_store_has_is_told(runs: Runs) -> None:
    ended = runs("show", "nothing", STORE)

    assert (ended.code, ended.out) == (4, "")
    assert 'there is no run "nothing" [ERR_DURABLE_UNKNOWN]' in ended.err


def test_a_store_that_is_not_there_has_no_runs_and_is_not_made(runs: Runs, store: Path) -> None:
    (store / "runs.db").unlink()
    listed = runs("list", STORE)
    shown = runs("show", "finished", STORE)

    assert listed == Ended(0, "no runs\n", "")
    assert shown.code == 4
    assert not (store / "runs.db").exists()


def test_a_server_that_does_not_answer_is_told_without_its_password(runs: Runs, store: Path) -> None:
    ended = runs("list", "--store", "postgresql://me:moonlight@127.0.0.1:9/none")

    assert (ended.code, ended.out) == (4, "")
    assert "[ERR_DURABLE_STORE]" in ended.err
    assert "moonlight" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "nothing says where the runs are kept"),
        (("set.yaml",), 'the set keeps no runs: it has no "Durable.Store"'),
        (("set.yaml", STORE), 'a store is given by "--store" or by the manifests that declare it, not by both'),
        (("--store", "mysql://here"), '"--store": the scheme is "mysql"; a store is at "sqlite:///FILE"'),
    ],
)
def test_what_is_no_store_is_wrong_usage(arguments: tuple[str, ...], expected: str, runs: Runs, store: Path) -> None:
    (store / "set.yaml").write_text("kind: Ai.ScriptedModel\nmetadata: { name: A }\nturns: [{ text: a }]\n")

    ended = runs("list", *arguments)

    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err
