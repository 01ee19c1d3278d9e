"""How a run fares, on standard error: a live line per resource on a terminal, plain lines elsewhere."""

import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from runtime.cli.output import encodable, has_colour
from runtime.lifecycle import Report

_CONTROL = {code: "�" for code in (*range(0x20), *range(0x7F, 0xA0)) if code != 0x09}


def make_report(options: Namespace) -> "PlainReport":
    """The report that fits standard error and the options `--quiet` and `--verbose`."""
    if sys.stderr.isatty() and not options.quiet:
        return LiveReport(sys.stderr, options)
    return PlainReport(sys.stderr, options)


class PlainReport(Report):
    """One line when a resource is ready; warnings always; a server's own lines with `--verbose`."""

    def __init__(self, stream: TextIO, options: Namespace) -> None:
        self._stream = stream
        self._is_quiet = bool(options.quiet)
        self._is_verbose = bool(options.verbose)
        self._colour = has_colour(stream, options)

    def starting(self, name: str) -> None:
        """Nothing: the line comes when there is something to tell."""

    def ready(self, name: str, seconds: float, summary: str) -> None:
        if not self._is_quiet:
            self._line(_ready_text(name, seconds, summary))

    def warn(self, name: str, message: str) -> None:
        self._line(f"warning: {name}: {message}")

    def log(self, name: str, message: str) -> None:
        if self._is_verbose:
            self._line(f"{name}: {message}")

    def tell(self, *messages: str) -> None:
        """Lines of the command's own, written together."""
        if not self._is_quiet and messages:
            self._line(*messages)

    @contextmanager
    def written_to(self, stream: TextIO) -> Iterator[None]:
        """Within the block lines go to another stream, such as one that keeps clear of what somebody types."""
        usual, self._stream = self._stream, stream
        try:
            yield
        finally:
            self._stream = usual

    def close(self) -> None:
        """Nothing is left on the screen that is not a line."""

    def _line(self, *texts: str) -> None:
        lines = [encodable(text.translate(_CONTROL), self._stream) for text in texts]
        print("\n".join(lines), file=self._stream, flush=True)


class LiveReport(PlainReport):
    """What is still starting stands below the lines that are done, and is written anew whenever something changes."""

    def __init__(self, stream: TextIO, options: Namespace) -> None:
        super().__init__(stream, options)
        self._starting: dict[str, float] = {}
        self._shown = 0

    def starting(self, name: str) -> None:
        self._starting[name] = time.monotonic()
        self._show()

    def ready(self, name: str, seconds: float, summary: str) -> None:
        self._starting.pop(name, None)
        super().ready(name, seconds, summary)

    def close(self) -> None:
        self._starting.clear()
        self._erase()
        self._stream.flush()

    def _line(self, *texts: str) -> None:
        self._erase()
        super()._line(*texts)
        self._show()

    def _show(self) -> None:
        self._erase()
        for name in self._starting:
            text = f"{name}: starting".translate(_CONTROL)
            print(f"\x1b[2m{text}\x1b[0m" if self._colour else text, file=self._stream)
        self._shown = len(self._starting)
        self._stream.flush()

    def _erase(self) -> None:
        if self._shown:
            self._stream.write(f"\x1b[{self._shown}A\x1b[J")
            self._shown = 0


def _ready_text(name: str, seconds: float, summary: str) -> str:
    return f"{name}: ready in {seconds:.1f} s" + (f", {summary}" if summary else "")
