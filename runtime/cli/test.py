"""Run the cases of a set of manifests: agents tested with no network and no keys, each expectation told by its diff."""

import os
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from runtime.checks import Checked, check
from runtime.cli import bringing_up
from runtime.cli.output import encodable, print_findings, print_json, write
from runtime.cli.progress import PlainReport
from runtime.cli.terminal_text import disarm
from runtime.errors import ManifestError, UsageError
from runtime.lifecycle import open_kind
from runtime.manifest import read_sources
from runtime.testing import reports
from runtime.testing.coverage import Coverage
from runtime.testing.coverage_page import coverage_page
from runtime.testing.discovery import choose, find_sets, refuse_none
from runtime.testing.running import CaseRunner, Outcome, choose_records, run_cases
from runtime.testing.setup import find_cases


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime test`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="manifests, folders of them, or *.test.yaml files")
    parser.add_argument("-k", dest="pattern", metavar="PATTERN", help="only cases with this in their name, or a glob")
    records = parser.add_mutually_exclusive_group()
    records.add_argument("--record-missing", action="store_true", help="record what the cassettes do not have")
    records.add_argument("--update", action="store_true", help="record the cassettes of all cases that run anew")
    parser.add_argument("--output", choices=("text", "json", "junit"), default="text", help="the form of the results")
    parser.add_argument(
        "--jobs", type=_positive, metavar="N", default=os.cpu_count() or 1, help="most cases at the same time"
    )
    parser.add_argument("--coverage", action="store_true", help="tell which agents, providers and tools no case uses")
    parser.add_argument("--coverage-html", metavar="FILE", help="write that as a page of HTML")
    parser.add_argument("--quiet", action="store_true", help="tell failures alone")
    parser.add_argument("--verbose", action="store_true", help="tell every case, and what was warned of")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f'a whole number of 1 or more is expected, not "{text}"')
    return int(text)


def run(options: Namespace) -> int:
    """0 where every case is as expected, else 5."""
    records = choose_records(missing=options.record_missing, every=options.update)
    sets = [_read(files, options) for files in find_sets(options.paths)]
    chosen = [(checked, choose(find_cases(checked), options.pattern)) for checked in sets]
    if not any(cases for _, cases in chosen):
        raise refuse_none([case for checked in sets for case in find_cases(checked)], options.pattern)
    coverages = [Coverage(checked) for checked in sets] if options.coverage or options.coverage_html else []

    async def main(report: PlainReport) -> int:
        started = time.perf_counter()
        outcomes: list[Outcome] = []
        for place, (checked, cases) in enumerate(chosen):
            opener = coverages[place].open if coverages else open_kind
            runner = CaseRunner(checked, records=records, opener=opener)
            outcomes += await run_cases(runner, cases, jobs=options.jobs, tell=lambda outcome: _tell(outcome, options))
        _print(outcomes, time.perf_counter() - started, coverages, options)
        return 0 if all(outcome.is_met for outcome in outcomes) else 5

    return bringing_up.run_until_signal(main, options)


def _read(files: list[str], options: Namespace) -> Checked:
    checked = check(read_sources(files), with_lock=False)
    if checked.errors or (checked.diagnostics and options.verbose):
        print_findings(checked, sys.stderr, options)
    if checked.errors:
        raise ManifestError(checked.diagnostics)
    return checked


def _tell(outcome: Outcome, options: Namespace) -> None:
    """A case as it ends; for people alone."""
    if options.output != "text":
        return
    if not outcome.is_met:
        _write(*reports.failure_lines(outcome))
    elif options.verbose or (outcome.is_recorded and not options.quiet):
        word = "recorded" if outcome.is_recorded else "passed"
        _write(f"{outcome.file}:{outcome.line}: {outcome.name} {word} in {outcome.seconds:.2f} s")
    if options.verbose:
        _write(*(f"    warning: {warning}" for warning in outcome.warnings))


def _print(outcomes: list[Outcome], seconds: float, coverages: list[Coverage], options: Namespace) -> None:
    if options.coverage_html:
        try:
            with open(options.coverage_html, "w", encoding="utf-8") as file:
                file.write(coverage_page(coverages))
        except OSError as error:
            reason = (error.strerror or "unknown").lower()
            raise UsageError(f'"{options.coverage_html}" cannot be written: {reason}') from error
    if options.output == "json":
        print_json(reports.as_data(outcomes, seconds, coverages))
    elif options.output == "junit":
        write(reports.as_junit(outcomes, seconds))
    else:
        if not options.quiet:
            _write(*reports.summary_lines(outcomes, seconds))
        if options.coverage:
            _write(*(line for coverage in coverages for line in reports.coverage_lines(coverage)))


def _write(*lines: str) -> None:
    write("".join(f"{encodable(disarm(line), sys.stdout)}\n" for line in lines))
