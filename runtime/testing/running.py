"""Running cases: each comes up by itself, from its cassette where it has one, on one event loop for all of them."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal

import anyio
from msgspec import Struct

from runtime.cassette.borders import Border, find_borders
from runtime.cassette.contents import CassetteError
from runtime.cassette.extending import Extender
from runtime.cassette.reader import CassetteReader, read_rules
from runtime.cassette.recording import Recorder
from runtime.cassette.replaying import Replay
from runtime.cassette.writer import check_place, write_cassette
from runtime.checks import Checked
from runtime.durable.memory import forgetting
from runtime.errors import Error, ManifestError, UsageError
from runtime.lifecycle import Opener, Report, bring_up, open_kind
from runtime.masking import Masker, mask_json
from runtime.resolver import Resolved, resolve
from runtime.resource_set import Resource
from runtime.testing.contracts import Case, Failure, Verdict
from runtime.testing.expecting import explain_error
from runtime.testing.setup import CassettePlace, Setup, find_setup

Records = Literal["nothing", "missing", "all"]
"""What is recorded: nothing, what no cassette has yet, all cassettes of the cases that run."""


def choose_records(*, missing: bool, every: bool) -> Records:
    """What is to be recorded. Raises UsageError in CI: a job that records would pass, whatever had changed."""
    if not missing and not every:
        return "nothing"
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise UsageError(
            "nothing is recorded in CI, where CI is set", hint="record where you are, and commit the files"
        )
    return "all" if every else "missing"


class Outcome(Struct, frozen=True):
    """What came of a case: where it stands, how long it took, what failed, what was warned of, what it gave.

    `fault` is why it did not run to its own end: a resource that did not start, a cassette that does not fit.
    """

    name: str
    file: str
    line: int
    seconds: float
    failures: Sequence[Failure]
    warnings: Sequence[str] = ()
    is_recorded: bool = False
    result: Any = None
    fault: Error | None = None

    @property
    def is_met(self) -> bool:
        return not self.failures


Perform = Callable[[Any], Awaitable[Verdict]]
"""What is done with a live case."""


async def verify(case: Case) -> Verdict:
    """Hold it against what it expects."""
    return await case.verify()


Played = tuple[CassettePlace, Replay | Extender]
"""A cassette, and what plays it."""


class CaseRunner:
    """Runs the cases of one set. Cases that share a cassette share its recording as well."""

    def __init__(
        self,
        checked: Checked,
        *,
        records: Records = "nothing",
        environment: Mapping[str, str] | None = None,
        opener: Opener = open_kind,
        reader: CassetteReader | None = None,
    ) -> None:
        self._checked = checked
        self._records = records
        self._environment = environment
        self._opener = opener
        self._reader = reader or CassetteReader()
        self._borders: Mapping[Resource, Border] = find_borders(checked.resources)
        self._recorded: set[str] = set()
        self._recording: dict[str, anyio.Lock] = {}

    async def run(self, case: Resource, perform: Perform = verify) -> Outcome:
        """Run one case; what goes wrong with it is among its failures, and never raised."""
        started = time.perf_counter()
        report = _Warnings()
        attempt = Attempt(find_setup(case, self._checked, self._borders), report, perform)
        fault: Error | None = None
        try:
            verdict = await self._attempt(attempt)
        except Error as error:
            fault = error
            failure = _explain_values(error) if isinstance(error, ManifestError) else explain_error(error)
            verdict = Verdict([failure])
        line, _ = case.source.position(case.body.places["kind"][0])
        return Outcome(
            str(case.name),
            case.source.name,
            line,
            time.perf_counter() - started,
            verdict.failures,
            report.warnings,
            attempt.is_recorded,
            verdict.result,
            fault,
        )

    async def _attempt(self, attempt: "Attempt") -> Verdict:
        taped = attempt.setup.taped
        try:
            async with self._alone({place.folder for place, _ in taped if self._is_to_record(place)}):
                return await self._run(attempt)
        except Error as error:  # a StartError as well, where it was a recording that could not be opened
            if self._records != "missing" or not error.code.startswith(CassetteError.code):
                raise
        attempt.report.warnings.clear()
        async with self._alone({place.folder for place, _ in taped}):
            return await self._run(attempt, is_extending=True)

    @asynccontextmanager
    async def _alone(self, folders: set[str]) -> AsyncIterator[None]:
        """The only one that records into these folders; in one order everywhere, so that no two wait for each other."""
        async with AsyncExitStack() as held:
            for folder in sorted(folders):
                await held.enter_async_context(self._recording.setdefault(folder, anyio.Lock()))
            yield

    def _is_to_record(self, place: CassettePlace) -> bool:
        if place.folder in self._recorded or self._records == "nothing":
            return False
        return self._records == "all" or not place.is_there

    async def _run(self, attempt: "Attempt", *, is_extending: bool = False) -> Verdict:
        """Each cassette recorded, or else played; what has none is live. `is_extending` records what those that are
        played do not have."""
        setup = attempt.setup
        recorded: dict[str, dict[Resource, Border]] = {}
        for place, borders in setup.taped:
            if self._is_to_record(place):
                recorded.setdefault(place.folder, {}).update(borders)
        played = [(place, borders) for place, borders in setup.taped if not self._is_to_record(place)]
        for folder, borders in recorded.items():
            check_place(folder, [border.key for border in borders.values()])
        for place, _ in played:
            _refuse_absent(place)
        changes = setup.changes(place for place, _ in played if not is_extending)
        resolved = resolve(self._checked, [setup.case], self._environment, changes)
        masker = Masker(resolved.values.secrets)
        replays, opener = self._make_replays(played, masker, Extender if is_extending else Replay)
        recorders: dict[str, Recorder] = {}
        for folder, borders in recorded.items():
            recorders[folder] = Recorder(borders, masker, opener)
            opener = recorders[folder].open
        verdict = await attempt.carry_out(resolved, opener)
        for folder, recorder in recorders.items():
            write_cassette(folder, recorder.finish(read_rules(folder)))
            self._reader.forget(folder)
            self._recorded.add(folder)
            attempt.is_recorded = True
        for place, replay in replays:
            if isinstance(replay, Extender) and (extended := replay.finish()):
                write_cassette(place.folder, extended)
                self._reader.forget(place.folder)
                attempt.is_recorded = True
        return _with_unused(replays, verdict, attempt.report)

    def _make_replays(
        self,
        played: Sequence[tuple[CassettePlace, Mapping[Resource, Border]]],
        masker: Masker,
        make: type[Replay] | type[Extender],
    ) -> tuple[list[Played], Opener]:
        """A replay of each cassette, and the opener of them all."""
        replays: list[Played] = []
        opener = self._opener
        for place, borders in played:
            replay = make(
                self._reader, place.folder, borders, masker, mode=place.mode, ignore=place.ignore, opener=opener
            )
            replays.append((place, replay))
            opener = replay.open
        return replays, opener


def _refuse_absent(place: CassettePlace) -> None:
    if not place.is_there:
        hint = "record it: run the test with --record-missing, where there are the keys and the servers"
        raise CassetteError(f'there is no cassette "{place.folder}"', hint=hint)


def _with_unused(replays: Sequence[Played], verdict: Verdict, report: "_Warnings") -> Verdict:
    """The verdict on a case, with what its cassettes tell; raises what they were asked and do not have."""
    failures: list[Failure] = []
    for place, replay in replays:
        if isinstance(replay, Replay) and replay.mismatch is not None:
            raise replay.mismatch
        told = [f"was recorded and not asked for: {each}" for each in replay.unused()]
        if place.mode == "lenient":
            report.warnings += told
        else:
            failures += [Failure("cassette", each) for each in told]
    return Verdict(failures, verdict.result) if failures and not verdict.failures else verdict


class Attempt:
    """One run of a case: how it comes up, what is done then, and what is noticed on the way."""

    def __init__(self, setup: Setup, report: "_Warnings", perform: Perform) -> None:
        self.setup = setup
        self.report = report
        self.is_recorded = False
        self._perform = perform

    async def carry_out(self, resolved: Resolved, opener: Opener) -> Verdict:
        masker = Masker(resolved.values.secrets)
        with forgetting():  # a case is nobody's run to go on with
            async with bring_up(resolved, self.report, opener) as live:
                verdict = await self._perform(live[str(self.setup.case.name)])
        failures = [
            Failure(each.expectation, masker(each.message), [masker(line) for line in each.diff])
            for each in verdict.failures
        ]
        return Verdict(failures, mask_json(verdict.result, masker))


async def run_cases(
    runner: CaseRunner, cases: Sequence[Resource], *, jobs: int, tell: Callable[[Outcome], None] = lambda outcome: None
) -> list[Outcome]:
    """Run cases, at most `jobs` at a time; their outcomes in the order of the cases, each told as it comes."""
    outcomes: dict[Resource, Outcome] = {}
    limiter = anyio.CapacityLimiter(jobs)

    async def run(case: Resource) -> None:
        async with limiter:
            outcomes[case] = await runner.run(case)
        tell(outcomes[case])

    async with anyio.create_task_group() as group:
        for case in cases:
            group.start_soon(run, case)
    return [outcomes[case] for case in cases]


class _Warnings(Report):
    """Keeps what is warned of."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def starting(self, name: str) -> None:
        """Nothing."""

    def ready(self, name: str, seconds: float, summary: str) -> None:
        """Nothing."""

    def warn(self, name: str, message: str) -> None:
        self.warnings.append(f"{name}: {message}")

    def log(self, name: str, message: str) -> None:
        """Nothing."""


def _explain_values(error: ManifestError) -> Failure:
    lines = [
        f"+{found.file}:{found.line}:{found.column} {found.message}{f' ({found.hint})' if found.hint else ''}"
        for found in error.diagnostics
    ]
    return Failure("run", "it cannot come up: values are missing", lines)
