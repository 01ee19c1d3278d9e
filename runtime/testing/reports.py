"""What came of cases, as text, as JSON values, and as JUnit XML."""

from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

from runtime.diagnostics.render import printable
from runtime.testing.coverage import Coverage, count, find_unused
from runtime.testing.running import Outcome

SLOWEST = 3
"""Cases that are named as the slowest ones."""


def failure_lines(outcome: Outcome) -> Iterator[str]:
    """A case that failed, with what differs."""
    yield f"{outcome.file}:{outcome.line}: {outcome.name} failed"
    for failure in outcome.failures:
        yield f"    {failure.expectation}: {failure.message}"
        yield from (f"      {line}" for line in failure.diff)


def summary_lines(outcomes: Sequence[Outcome], seconds: float) -> Iterator[str]:
    failed = sum(not outcome.is_met for outcome in outcomes)
    recorded = sum(outcome.is_recorded for outcome in outcomes)
    parts = [f"{len(outcomes) - failed} passed", f"{failed} failed"]
    parts += [f"{recorded} recorded"] if recorded else []
    yield f"{', '.join(parts)} in {seconds:.1f} s"
    if len(outcomes) > 1:
        yield f"slowest: {', '.join(f'{each.name} {each.seconds:.2f} s' for each in find_slowest(outcomes))}"


def find_slowest(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return sorted(outcomes, key=lambda outcome: -outcome.seconds)[:SLOWEST]


def coverage_lines(coverage: Coverage) -> Iterator[str]:
    totals = count(coverage)
    parts = (("agents", totals.agents), ("providers", totals.providers), ("offered tools", totals.tools))
    yield f"coverage: {', '.join(f'{some} of {every} {what}' for what, (some, every) in parts)}"
    yield from (f"    {line}" for line in find_unused(coverage))


def as_data(outcomes: Sequence[Outcome], seconds: float, coverages: Sequence[Coverage]) -> dict[str, Any]:
    """`{ok, passed, failed, seconds, cases, slowest}`, and `coverage` where it was asked for."""
    failed = sum(not outcome.is_met for outcome in outcomes)
    data: dict[str, Any] = {
        "ok": not failed,
        "passed": len(outcomes) - failed,
        "failed": failed,
        "seconds": round(seconds, 3),
        "cases": [_case_data(outcome) for outcome in outcomes],
        "slowest": [outcome.name for outcome in find_slowest(outcomes)],
    }
    return {**data, "coverage": [coverage_data(each) for each in coverages]} if coverages else data


def _case_data(outcome: Outcome) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": outcome.name,
        "file": outcome.file,
        "line": outcome.line,
        "ok": outcome.is_met,
        "seconds": round(outcome.seconds, 3),
        "recorded": outcome.is_recorded,
        "failures": [
            {"expectation": each.expectation, "message": each.message, "diff": list(each.diff)}
            for each in outcome.failures
        ],
        "warnings": list(outcome.warnings),
    }
    return data if outcome.is_met else {**data, "result": outcome.result}


def coverage_data(coverage: Coverage) -> dict[str, Any]:
    return {
        "agents": [
            {
                "name": agent.name,
                "run": agent.is_run,
                "tools": [
                    {"name": tool.name, "provider": tool.provider, "called": tool.is_called} for tool in agent.tools
                ],
            }
            for agent in coverage.agents
        ],
        "providers": [{"name": name, "used": is_used} for name, is_used in coverage.providers.items()],
    }


def as_junit(outcomes: Sequence[Outcome], seconds: float) -> str:
    """A suite per file, a test case per case."""
    failed = sum(not outcome.is_met for outcome in outcomes)
    root = ElementTree.Element(
        "testsuites", name="runtime test", tests=str(len(outcomes)), failures=str(failed), time=f"{seconds:.3f}"
    )
    for file in dict.fromkeys(outcome.file for outcome in outcomes):
        here = [outcome for outcome in outcomes if outcome.file == file]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=printable(file),
            tests=str(len(here)),
            failures=str(sum(not outcome.is_met for outcome in here)),
            time=f"{sum(outcome.seconds for outcome in here):.3f}",
        )
        for outcome in here:
            _add_case(suite, outcome)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_case(suite: ElementTree.Element, outcome: Outcome) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=printable(outcome.file),
        name=outcome.name,
        file=printable(outcome.file),
        line=str(outcome.line),
        time=f"{outcome.seconds:.3f}",
    )
    if not outcome.is_met:
        first = outcome.failures[0]
        message = printable(f"{first.expectation}: {first.message}")
        failure = ElementTree.SubElement(case, "failure", type=first.expectation, message=message)
        failure.text = "\n".join(printable(line) for line in failure_lines(outcome))
    if outcome.warnings:
        ElementTree.SubElement(case, "system-out").text = "\n".join(map(printable, outcome.warnings))
