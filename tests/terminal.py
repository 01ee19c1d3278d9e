"""A command on a terminal of its own: what it shows there, and what is typed into it."""

import fcntl
import os
import select
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from command import LIMIT, RUNTIME, end_left, environment


class Terminal:
    """The person's side of the terminal."""

    def __init__(self, process: "subprocess.Popen[bytes]", descriptor: int) -> None:
        self.process = process
        self.shown = ""
        self._descriptor = descriptor
        self._seen = 0

    def expect(self, text: str) -> str:
        """Wait until the text is shown after what was waited for before; what was shown up to it."""
        end = time.monotonic() + LIMIT
        while (place := self.shown.find(text, self._seen)) < 0:
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"{text!r} is not shown after {self.shown[self._seen :]!r}")
        before = self.shown[self._seen : place]
        self._seen = place + len(text)
        return before

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def wait(self) -> int:
        """The exit code, once the command has ended; `shown` is then all that it showed."""
        end = time.monotonic() + LIMIT
        while self._read(end - time.monotonic()):
            pass
        return self.process.wait(LIMIT)

    def _read(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._descriptor], [], [], seconds)[0]:
            raise AssertionError(f"nothing more came after {self.shown[self._seen :]!r}")
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # on Linux the end of the other side is an error
            return False
        self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


@contextmanager
def on_terminal(folder: Path, *arguments: str, stdout: int | None = None, **more: str) -> Iterator[Terminal]:
    """`runtime ARGUMENTS` on a terminal while the block runs; `stdout` takes its answer elsewhere."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [RUNTIME, *arguments],
        env=environment(folder, TERM="xterm", **more),
        cwd=folder,
        stdin=theirs,
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait(LIMIT)
        os.close(ours)
        end_left(folder)


def _take_terminal() -> None:
    """Make the terminal the one whose Ctrl-C is a signal to the command."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
