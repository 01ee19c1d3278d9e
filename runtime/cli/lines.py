"""Lines that a person types, or that somebody pipes in, read while the event loop goes on."""

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Protocol

from runtime.cli.progress import PlainReport

CHUNK = 65536
PROMPT = "> "


class Lines(Protocol):
    """Where lines come from."""

    async def read(self) -> str | None:
        """The next line without its end; None when there is no other. Raises KeyboardInterrupt for Ctrl-C."""


async def wait_for_input(descriptor: int) -> None:
    """Wait until there is something to read; a file always has something, and cannot be waited for."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:
        return
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


class PlainLines:
    """Standard input as it is; on a terminal with a prompt, and what line editing the terminal itself has."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt
        self._kept = b""
        self._is_over = False

    async def read(self) -> str | None:
        self.show_prompt()
        while b"\n" not in self._kept and not self._is_over:
            await wait_for_input(sys.stdin.fileno())
            data = os.read(sys.stdin.fileno(), CHUNK)
            self._is_over = not data
            self._kept += data
        line, _, rest = self._kept.partition(b"\n")
        is_end = self._is_over and not self._kept
        self._kept = rest
        if is_end and self._prompt:
            sys.stderr.write("\n")
        return None if is_end else line.decode("utf-8", "replace").rstrip("\r")

    def show_prompt(self) -> None:
        if self._prompt:
            sys.stderr.write(self._prompt)
            sys.stderr.flush()


class EditedLines:
    """Lines with editing, history and completion by prompt_toolkit: Enter sends, Esc and Enter begins another line.

    What is told while somebody types stands above the line.
    """

    def __init__(self, commands: Sequence[str], typed_before: Sequence[str], report: PlainReport) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.history import InMemoryHistory
        from prompt_toolkit.key_binding import KeyBindings

        keys = KeyBindings()
        keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
        self._report = report
        self._session: PromptSession[str] = PromptSession(
            history=InMemoryHistory(typed_before),
            completer=WordCompleter(list(commands), sentence=True),
            complete_while_typing=False,
            key_bindings=keys,
        )

    async def read(self) -> str | None:
        from prompt_toolkit.patch_stdout import StdoutProxy

        with StdoutProxy(raw=True) as above, self._report.written_to(above):  # type: ignore[arg-type]  # is one but by name
            try:
                return await self._session.prompt_async(PROMPT, handle_sigint=False)
            except EOFError:
                return None


def make_lines(commands: Sequence[str], typed_before: Sequence[str], report: PlainReport) -> Lines:
    """Edited lines on a terminal where prompt_toolkit is installed, which the extra `chat` brings; else plain ones."""
    if not sys.stdin.isatty():
        return PlainLines("")
    try:
        return EditedLines(commands, typed_before, report) if sys.stdout.isatty() else PlainLines(PROMPT)
    except ModuleNotFoundError:
        return PlainLines(PROMPT)
