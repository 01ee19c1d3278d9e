"""On a terminal, whoever sits there decides on a call that may have been made."""

import pytest
from kept import Kept
from terminal import on_terminal


@pytest.mark.parametrize(("typed", "code", "ran"), [("r", 0, 2), ("f", 4, 1), ("", 4, 1)])
def test_a_call_that_may_have_been_made_is_asked_about(kept: Kept, typed: str, code: int, ran: int) -> None:
    kept.write([["add:1"]])
    kept.apply("--run-id", "one", "--prompt", "go", kill="add:1:during")

    with on_terminal(kept.folder, "apply", "set.yaml", "--run-id", "one", "--quiet") as terminal:
        terminal.expect('Assistant had called add with\n{\n  "n": 1\n}')
        terminal.expect("or leave it waiting: ")
        terminal.type(f"{typed}\n")
        ended = terminal.wait()

    assert (ended, kept.counts()["add:1"]) == (code, ran)
    assert kept.list()[0].state == {"r": "finished", "f": "failed", "": "waiting"}[typed]
