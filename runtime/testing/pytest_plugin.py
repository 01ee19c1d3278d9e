"""The plugin of pytest: each case of a `*.test.yaml` is an item, so that a team's own test run runs them too.

Only what a run without such files needs is imported at the top.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from runtime.resource_set import Resource
    from runtime.testing.running import CaseRunner

SUFFIXES = (".test.yaml", ".test.yml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `runtime test` that make sense here."""
    group = parser.getgroup("manifest-runtime", "cases of manifest-runtime")
    group.addoption("--record-missing", action="store_true", help="record what the cassettes of cases do not have")
    group.addoption("--record-all", action="store_true", help="record the cassettes of all cases that run anew")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "CaseFile | None":
    """Files that stand beside manifests and hold cases."""
    return CaseFile.from_parent(parent, path=file_path) if file_path.name.endswith(SUFFIXES) else None


class CaseFile(pytest.File):
    """The cases of one file, in the set of what they test."""

    def collect(self) -> Iterator["CaseItem"]:
        from runtime.checks import check
        from runtime.diagnostics.render import as_text
        from runtime.manifest import read_sources
        from runtime.testing.discovery import find_manifests
        from runtime.testing.running import CaseRunner
        from runtime.testing.setup import find_cases

        name = os.path.relpath(self.path)
        checked = check(read_sources([*find_manifests(name), name]), with_lock=False)
        if checked.errors:
            raise self.CollectError("\n".join(as_text(checked.diagnostics, {}, colour=False)))
        runner = CaseRunner(checked, records=_choose_records(self.config))
        for case in find_cases(checked):
            if case.source.name == name:
                yield CaseItem.from_parent(self, name=str(case.name), case=case, runner=runner)


def _choose_records(config: pytest.Config) -> Any:
    from runtime.errors import UsageError
    from runtime.testing.running import choose_records

    try:
        return choose_records(missing=config.getoption("--record-missing"), every=config.getoption("--record-all"))
    except UsageError as error:
        raise pytest.UsageError(f"{error.message}: {error.hint}") from error


class CaseItem(pytest.Item):
    """One case."""

    def __init__(self, *, case: "Resource", runner: "CaseRunner", **rest: Any) -> None:
        super().__init__(**rest)
        self._case = case
        self._runner = runner

    def runtest(self) -> None:
        import anyio

        outcome = anyio.run(self._runner.run, self._case)
        for warning in outcome.warnings:
            self.add_report_section("call", "warnings", warning)
        if not outcome.is_met:
            from runtime.testing.reports import failure_lines

            pytest.fail("\n".join(failure_lines(outcome)), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        line, _ = self._case.source.position(self._case.body.places["kind"][0])
        return self.path, line - 1, f"case {self.name}"
