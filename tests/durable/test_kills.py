"""A run whose process is killed goes on where its record ends: no finished step is done again."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command import LIMIT, RUNTIME, end_left, environment
from kept import Kept

KILLS = int(os.environ.get("DURABLE_KILLS", "3"))
"""Kills at random moments on each database; more of them take longer, a second and a half each."""

MOMENTS = (
    "model:1:before",
    "model:1:during",
    "look:1:before",  # after the model's turn
    "look:1:during",
    "model:2:before",  # after the call
    "model:2:during",
    "put:1:during",
    "add:1:before",
    "model:4:before",
)


def test_steps_under_way_are_done_again_and_finished_ones_are_not(anywhere: Kept) -> None:
    anywhere.write([["look:1"], ["put:1"], ["add:1"]], ", onUncertainTool: retry")

    moments = MOMENTS if anywhere.url.startswith("sqlite") else MOMENTS[1::2]

    for place, moment in enumerate(moments):
        ended = anywhere.apply("--run-id", "one", *([] if place else ["--prompt", "go"]), kill=moment)
        assert (moment, ended.code) == (moment, -signal.SIGKILL), ended.err
    ended = anywhere.apply("--run-id", "one")

    assert (ended.code, ended.out) == (0, "turn 4\n"), ended.err
    steps = ("model:1", "look:1", "model:2", "put:1", "model:3", "add:1", "model:4")
    assert anywhere.counts() == {step: 1 + (f"{step}:during" in moments) for step in steps}
    keys = {(entry["tool"], entry["key"]) for entry in anywhere.log() if entry["key"]}
    assert len(keys) == 3  # a call that is made again has the key that it had


def test_at_random_moments_no_finished_step_is_repeated_and_no_call_is_made_twice(anywhere: Kept) -> None:
    turns = [[f"add:{n}", f"look:{n}"] for n in range(1, 4 * KILLS)]
    anywhere.write(turns)
    chance = random.Random(os.environ.get("DURABLE_SEED", "7"))
    kills = waits = 0
    finished: dict[str, int] = {}

    for _ in range(4 * KILLS):
        arguments = ["--run-id", "one", *([] if kills else ["--prompt", "go"])]
        if kills == KILLS:
            ended = anywhere.apply(*arguments)
            code, err = ended.code, ended.err
        else:
            code, err = kill_after(anywhere.folder, arguments, len(anywhere.log()) + chance.randint(1, 6), chance)
        if code == -signal.SIGKILL:
            kills += 1
        elif code == 4:
            assert "ERR_DURABLE_UNCERTAIN" in err, err
            waits += 1
            anywhere.resume("one", "skip")
        else:
            assert code == 0, err
            break
        check_finished(anywhere, finished)

    assert code == 0, err
    done = anywhere.counts()
    assert {name: count for name, count in done.items() if name.startswith("add") and count > 1} == {}
    assert {name: done[name] for name in finished} == finished
    assert all(count <= 1 + kills for count in done.values())
    assert f"model:{len(turns) + 1}" in done


def check_finished(kept: Kept, finished: dict[str, int]) -> None:
    """Note how often each recorded step has been done by now: so often, and no more."""
    done = kept.counts()
    for step in kept.show("one").steps:
        if step.name == "model":
            name = f"model:{int(step.output['text'].removeprefix('turn '))}"
        elif step.name.startswith("call ") and "ran" in step.output["answer"]["content"]:
            tool, n, *_ = step.output["answer"]["content"].split()
            name = f"{tool}:{n}"
        else:
            continue
        finished.setdefault(name, done[name])


def kill_after(folder: Path, arguments: list[str], lines: int, chance: random.Random) -> tuple[int, str]:
    """Kill the command a little after the log has so many lines; its code, and what it said, if it ended before."""
    log = folder / "log"
    with subprocess.Popen(
        [RUNTIME, "apply", "set.yaml", "--quiet", *arguments],
        env=environment(folder),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        end = time.monotonic() + LIMIT
        while process.poll() is None and time.monotonic() < end:
            if log.exists() and len(log.read_bytes().splitlines()) >= lines:
                time.sleep(chance.random() * 0.02)  # the random moment itself, and no wait for anything
                process.kill()
                break
            time.sleep(0.001)
        _, err = process.communicate(timeout=LIMIT)
        code = process.returncode
    end_left(folder)
    return code, err


@pytest.mark.parametrize("moment", ["add:1:before", "add:1:during"])
def test_a_call_that_may_have_been_made_waits_for_a_decision(kept: Kept, moment: str) -> None:
    kept.write([["add:1"]])
    kept.apply("--run-id", "one", "--prompt", "go", kill=moment)

    ended = kept.apply("--run-id", "one")

    assert ended.code == 4
    assert 'error: Assistant: the run "one" waits: the call of "add" was under way when its process died' in ended.err
    assert "[ERR_DURABLE_UNCERTAIN]" in ended.err
    (info,) = kept.list()
    assert (info.state, info.wait.code, info.wait.tool) == ("waiting", "ERR_DURABLE_UNCERTAIN", "add")

    kept.resume("one", "retry")
    ended = kept.apply("--run-id", "one")

    assert (ended.code, ended.out) == (0, "turn 2\n"), ended.err
    assert kept.counts() == {"model:1": 1, "add:1": 1 + moment.endswith("during"), "model:2": 1}
