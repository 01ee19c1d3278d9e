"""The `runtime` command as people run it: a process of its own, what it printed, and what it left behind."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

BIN = Path(sys.executable).parent
RUNTIME = str(BIN / "runtime")
LIMIT = 60.0
"""Seconds after which a command has failed the test."""


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def environment(folder: Path, **more: str) -> dict[str, str]:
    """A clean environment with the command on PATH; `folder` as TMPDIR marks all processes of the run."""
    path = os.pathsep.join((str(BIN), os.environ.get("PATH", os.defpath)))
    return {"PATH": path, "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8", **more}


def run(folder: Path, *arguments: str, cwd: Path | None = None, **more: str) -> Ended:
    """Run `runtime ARGUMENTS` to its end; keywords are environment variables."""
    done = subprocess.run(
        [RUNTIME, *arguments],
        env=environment(folder, **more),
        cwd=cwd or folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@contextmanager
def started(folder: Path, *arguments: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    """A `runtime ARGUMENTS` that runs while the block does; what is left of it afterwards is killed."""
    process = subprocess.Popen(
        [RUNTIME, *arguments],
        env=environment(folder, **more),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
            end_left(folder)


def finish(process: subprocess.Popen[str]) -> Ended:
    """Wait for the end of a started command."""
    out, err = process.communicate(timeout=LIMIT)
    return Ended(process.returncode, out, err)


def left_behind(folder: Path) -> list[psutil.Process]:
    """The processes that live and have `folder` as TMPDIR: every one that a run in it started."""
    return [process for process in psutil.process_iter() if _has_mark(process, str(folder))]


def end_left(folder: Path) -> None:
    """Kill what a run in `folder` left behind; one that ends by itself meanwhile is as good."""
    for left in left_behind(folder):
        with suppress(psutil.NoSuchProcess):
            left.kill()


def _has_mark(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get("TMPDIR") == mark and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
