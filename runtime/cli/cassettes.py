"""`--record` and `--replay` of `apply`: a run that is kept as a cassette, or that comes from one."""

from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from runtime.changes import AS_IT_STANDS, Changes
from runtime.checks import Checked
from runtime.cli.progress import PlainReport
from runtime.errors import Error, StartError, UsageError
from runtime.lifecycle import Opener, open_kind
from runtime.masking import Masker
from runtime.resolver import Resolved

MODES = ("strict", "lenient")


def add_arguments(parser: ArgumentParser) -> None:
    """Where a cassette is written to or read from, and how closely requests have to fit it."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--record", metavar="DIR", help="keep all that goes to models and servers, and what they answer")
    place.add_argument("--replay", metavar="DIR", help="answer from such a recording; nothing is started or connected")
    parser.add_argument(
        "--replay-mode",
        choices=MODES,
        help="strict (the default) takes the requests that were recorded alone, lenient goes by their order and tool",
    )


def find_changes(checked: Checked, options: Namespace) -> Changes:
    """What a replay puts in the place of the set's own; raises UsageError for a cassette that cannot be written."""
    if options.replay_mode is not None and options.replay is None:
        raise UsageError('"--replay-mode" is for "--replay"')
    if options.replay is None and options.record is None:
        return AS_IT_STANDS
    from runtime.cassette.borders import find_borders

    borders = find_borders(checked.resources)
    if options.replay is not None:
        return Changes(stand_ins=borders.keys(), reads_secrets=False)
    from runtime.cassette.writer import check_place

    check_place(options.record, [border.key for border in borders.values()])
    return AS_IT_STANDS


@asynccontextmanager
async def taped(checked: Checked, resolved: Resolved, report: PlainReport, options: Namespace) -> AsyncIterator[Opener]:
    """The opener of a run that is recorded or replayed, or of a plain one.

    A recording is written when the run is over, also when it failed. Raises ExpectationError ERR_CASSETTE_MISMATCH for
    what a replay was asked and does not have, whatever became of it in the run.
    """
    masker = Masker(resolved.values.secrets)
    if options.record is not None:
        async with _recorded(checked, masker, report, options.record) as opener:
            yield opener
    elif options.replay is not None:
        async with _replayed(checked, masker, report, options) as opener:
            yield opener
    else:
        yield open_kind


@asynccontextmanager
async def _recorded(checked: Checked, masker: Masker, report: PlainReport, folder: str) -> AsyncIterator[Opener]:
    from runtime.cassette.borders import find_borders
    from runtime.cassette.reader import read_rules
    from runtime.cassette.recording import Recorder
    from runtime.cassette.writer import write_cassette

    recorder = Recorder(find_borders(checked.resources), masker)
    failure: Error | None = None
    try:
        yield recorder.open
    except StartError:
        raise
    except Error as error:
        failure = error
    recordings = recorder.finish(read_rules(folder))
    write_cassette(folder, recordings)
    count = sum(len(recording.exchanges) for recording in recordings)
    report.tell(f"{folder}: recorded {count} exchange{'' if count == 1 else 's'}")
    if failure is not None:
        raise failure


@asynccontextmanager
async def _replayed(checked: Checked, masker: Masker, report: PlainReport, options: Namespace) -> AsyncIterator[Opener]:
    from runtime.cassette.borders import find_borders
    from runtime.cassette.reader import CassetteReader
    from runtime.cassette.replaying import Replay
    from runtime.durable.memory import forgetting

    borders = find_borders(checked.resources)
    replay = Replay(CassetteReader(), options.replay, borders, masker, mode=options.replay_mode or "strict")
    try:
        with forgetting():
            yield replay.open
    except Error as error:
        if replay.mismatch is not None:
            raise replay.mismatch from error
        raise
    if replay.mismatch is not None:
        raise replay.mismatch
    for unused in replay.unused():
        report.warn(options.replay, f"was recorded and not asked for: {unused}")
