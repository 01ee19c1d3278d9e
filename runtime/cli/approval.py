"""Asking a person on the terminal whether a tool call may be made."""

import asyncio
import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime.ai.approval import ApprovalRequest, Decision
from runtime.ai.selection import make_filter
from runtime.cli.lines import wait_for_input
from runtime.cli.output import encodable
from runtime.cli.progress import PlainReport
from runtime.cli.terminal_text import reveal, reveal_json
from runtime.masking import Masker, mask_json

if TYPE_CHECKING:
    from runtime.ai.uncertainty import UncertainCall
    from runtime.durable.contracts import Decision as Choice

LONGEST_LINE = 4096
"""Bytes; a terminal gives no longer line."""
_CHOICES: "dict[str, Choice]" = {
    "r": "retry",
    "retry": "retry",
    "s": "skip",
    "skip": "skip",
    "f": "fail",
    "fail": "fail",
}


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of commands that may have to ask."""
    parser.add_argument(
        "--approve",
        action="append",
        default=[],
        metavar="TOOL",
        help="approve the calls of this tool, a name with its prefix or a glob, without asking; may be repeated",
    )


class TerminalApprover:
    """Asks on standard error and reads standard input; refuses where they are no terminal.

    One question at a time: whoever else wants to ask waits. `allowed` are names and globs that need no question.
    """

    def __init__(self, allowed: Sequence[str], report: PlainReport, masker: Masker) -> None:
        self._is_allowed = make_filter(allowed)
        self._always: set[tuple[str, str]] = set()
        self._report = report
        self._masker = masker
        self._turn = asyncio.Lock()

    async def __call__(self, request: ApprovalRequest) -> Decision:
        if self._is_allowed(request.tool):
            return Decision(True)
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            shown = f'the call of "{request.tool}" is refused: it needs approval, and there is no terminal to ask on'
            self._report.warn(request.agent, f'{shown}; "--approve {request.tool}" approves it')
            return Decision(False, "there is no terminal on which somebody could be asked")
        async with self._turn:
            if (request.agent, request.tool) in self._always:
                return Decision(True)
            return await self._ask(request)

    async def decide(self, call: "UncertainCall") -> "Choice | None":
        """Ask what to do with a call that may have been carried out; None where there is no terminal to ask on."""
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        async with self._turn:
            arguments = reveal_json(mask_json(call.arguments, self._masker))
            _show(f"{reveal(call.agent)} had called {reveal(call.tool)} with\n{arguments}\n")
            _show("when its process died, and the call may have been carried out.\n")
            _forget_typed()
            _show("[r]etry it, [s]kip it and tell the model so, [f]ail the run, or leave it waiting: ")
            word = (await read_line()).strip().lower()
        return _CHOICES.get(word)

    async def _ask(self, request: ApprovalRequest) -> Decision:
        arguments = reveal_json(mask_json(request.arguments, self._masker))
        _show(f"{reveal(request.agent)} wants to call {reveal(request.tool)} with\n{arguments}\n")
        _forget_typed()
        _show("Allow it? [y]es, [a]lways, [n]o, or why not: ")
        line = await read_line()
        word = line.strip()
        if word.lower() in ("a", "always"):
            self._always.add((request.agent, request.tool))
        if word.lower() in ("y", "yes", "a", "always"):
            return Decision(True)
        return Decision(False, "" if word.lower() in ("", "n", "no") else word)


async def read_line() -> str:
    """The next line that is typed on standard input; empty at its end."""
    await wait_for_input(sys.stdin.fileno())
    return os.read(sys.stdin.fileno(), LONGEST_LINE).decode("utf-8", "replace")


def _show(text: str) -> None:
    sys.stderr.write(encodable(text, sys.stderr))
    sys.stderr.flush()


def _forget_typed() -> None:
    """What was typed before the question is no answer to it."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
