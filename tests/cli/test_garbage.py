"""Garbage is left alone while a command starts, and collected in what goes on for longer."""

import subprocess
import sys
from pathlib import Path

from command import environment

PROGRAM = """
import gc, sys
from argparse import Namespace

import anyio

from runtime.cli import bringing_up

async def main(report):
    states = [gc.isenabled()]
    with anyio.fail_after(30):
        while not gc.isenabled():
            await anyio.sleep(0.02)
    states += [gc.isenabled(), gc.get_freeze_count() > 10_000]
    print(*states)
    return 7

gc.disable()
sys.exit(bringing_up.run_until_signal(main, Namespace(quiet=True, verbose=False, no_color=True)))
"""


def test_a_command_that_goes_on_collects_garbage_but_not_what_its_start_left(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment(tmp_path), capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stdout) == (7, "False True True\n"), done.stderr
