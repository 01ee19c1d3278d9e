"""What the commands that start something share: a checked set, what of it is wanted, signals, the event loop."""

import gc
import signal
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from typing import TypeVar

from runtime.changes import AS_IT_STANDS, Changes
from runtime.checks import Checked
from runtime.cli.progress import PlainReport, make_report
from runtime.cli.reading import find_invocable as find_invocable
from runtime.cli.reading import invocables as invocables
from runtime.cli.reading import print_found
from runtime.cli.reading import read_checked as read_checked
from runtime.errors import Error, ManifestError
from runtime.masking import Masker
from runtime.resolver import Resolved, resolve
from runtime.resource_set import Resource

START_SECONDS = 1.0
"""After which garbage is collected: many runs have ended by then, and need it no more than their start did."""


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments that such commands have in common."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, a glob, or - for standard input")
    parser.add_argument("--agent", metavar="NAME", help="the agent that is meant, where the set has several")
    parser.add_argument("--quiet", action="store_true", help="no progress, only warnings and errors")
    parser.add_argument("--verbose", action="store_true", help="what servers log, and what is retried")


def resolve_printed(
    checked: Checked, roots: list[Resource], options: Namespace, changes: Changes = AS_IT_STANDS
) -> Resolved:
    """Values for what is wanted; what is missing goes to standard error, all of it, before anything starts."""
    try:
        return resolve(checked, roots, changes=changes)
    except ManifestError as error:
        print_found(checked, error.diagnostics, options)
        raise


def run_until_signal(
    main: Callable[[PlainReport], Awaitable[int]],
    options: Namespace,
    interrupt: Callable[[], bool] = lambda: False,
    take: Callable[[signal.Signals], bool] = lambda number: False,
) -> int:
    """Run `main` on an event loop; SIGINT, SIGTERM and SIGHUP cancel it once, and it cleans up.

    Gives what `main` gives, or 128 + the signal. A second signal ends every server at once, and then the process.
    `interrupt` is asked first at SIGINT: where it gives True, it has stopped something smaller than the whole. `take`
    is asked first at any signal: where it gives True, it does by itself what the signal asks for.
    """
    import asyncio

    report = make_report(options)
    caught: list[signal.Signals] = []

    async def run() -> int:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(_awaited(main(report)))

        def stop(number: signal.Signals) -> None:
            if take(number) or (number == signal.SIGINT and interrupt()):
                return
            caught.append(number)
            if len(caught) > 1:
                _end_now(128 + number)
            task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stop, number)
        loop.call_later(START_SECONDS, _collect_garbage)
        try:
            return await task
        except asyncio.CancelledError:
            if not caught:
                raise
            return 128 + caught[0]

    try:
        return asyncio.run(run())
    finally:
        report.close()


T = TypeVar("T")


async def masked(work: Awaitable[T], masker: Masker) -> T:
    """What `work` gives; an error of it leaves with the values of secrets masked."""
    try:
        return await work
    except Error as error:
        error.message = masker(error.message)
        error.hint = masker(error.hint) if error.hint else None
        raise


async def _awaited(awaitable: Awaitable[int]) -> int:
    return await awaitable


def _collect_garbage() -> None:
    """Look for garbage from here on, but not in what the start has left: modules and the set, which stay."""
    gc.freeze()
    gc.enable()


def _end_now(code: int) -> None:
    import os

    from runtime.mcp.process_tracker import tracker

    tracker.kill_all()
    os._exit(code)
