"""Runs of processes that are gone, or silent: others take them over, and what was silent changes nothing any more."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
from command import LIMIT, environment, finish, started
from kept import Kept


def test_the_next_process_takes_over_what_a_killed_one_left(kept: Kept) -> None:
    kept.write([["look:1"], ["look:2"]])
    kept.apply("--run-id", "left", "--prompt", "go", kill="look:1:during")
    assert kept.list()[0].state == "interrupted"

    ended = kept.apply("--run-id", "next", "--prompt", "go")  # it is asked for something else

    assert (ended.code, ended.out) == (0, "turn 3\n"), ended.err
    assert {info.id: info.state for info in kept.list()} == {"left": "finished", "next": "finished"}
    executors = {info.executor for info in kept.list()}
    assert len(executors) == 1  # both ended in the second process
    # The look that was under way, the two of the other run, and the one that was left to do.
    assert kept.counts() == {"model:1": 2, "look:1": 3, "model:2": 2, "look:2": 2, "model:3": 2}


def test_who_was_silent_for_too_long_does_nothing_twice_when_it_wakes(anywhere: Kept) -> None:
    anywhere.write([["look:1"], ["add:2"]], store="takeoverAfter: 1s")
    (anywhere.folder / "kill").write_text("look:1:stop")
    with started(anywhere.folder, "apply", "set.yaml", "--run-id", "one", "--prompt", "go", "--quiet") as silent:
        process = psutil.Process(silent.pid)
        wait_until_stopped(process)
        (before,) = [info for info in anywhere.list() if info.id == "one"]

        ended = anywhere.apply("--run-id", "one")
        process.resume()
        woken = finish(silent)

    assert before.state in ("running", "interrupted")
    assert (ended.code, ended.out) == (0, "turn 3\n"), ended.err
    assert (woken.code, woken.out) == (0, "turn 3\n"), woken.err  # it learns what came of its run
    assert anywhere.counts() == {"model:1": 1, "look:1": 2, "model:2": 1, "add:2": 1, "model:3": 1}


def wait_until_stopped(process: psutil.Process) -> None:
    with subprocess.Popen(["tail", f"--pid={process.pid}", "-f", "/dev/null"]) as waiting:
        try:
            for _ in range(int(LIMIT * 20)):
                if process.status() == psutil.STATUS_STOPPED:
                    return
                try:
                    waiting.wait(0.05)
                except subprocess.TimeoutExpired:
                    continue
                raise AssertionError("it has ended")
            raise AssertionError("it is not stopped")
        finally:
            waiting.send_signal(signal.SIGTERM)


def test_without_a_store_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(
        "kind: Ai.ScriptedModel\nmetadata: { name: Script }\nturns: [{ text: hello }]\n---\n"
        "kind: Ai.Agent\nmetadata: { name: Asker }\nmodel: !ref Script\n"
    )
    program = (
        "import sys\nfrom runtime.cli.main import main\nmain(sys.argv[1:])\n"
        "print(*sorted(each for each in sys.modules if each.split('.')[0] in ('dbos', 'sqlalchemy', 'psycopg')"
        " or each.startswith(('runtime.durable', 'runtime.ai.journal', 'runtime.ai.kept'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "apply", "set.yaml", "--prompt", "hi", "--quiet"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )

    assert (done.stdout, done.returncode) == ("hello\n\n", 0), done.stderr
