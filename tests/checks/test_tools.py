"""Golden cases of what a lock makes known: a manifest, its lock, and exactly the findings that are expected."""

import subprocess
import sys
from pathlib import Path

import pytest
from command import environment, run
from lock_cases import CASES, make_lock

from runtime.checks import check
from runtime.diagnostics import CODES
from runtime.manifest import read_sources

NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir())


def find(name: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(CASES / name)
    checked = check(read_sources(["set.yaml"]), locked=name.startswith("locked-"))
    return [
        f"{found.file}:{found.line}:{found.column}: {found.severity} {found.code} {found.message}"
        for found in checked.diagnostics
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_case_has_exactly_the_findings_expected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(name, monkeypatch) == (CASES / name / "expected").read_text().splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_a_case_has_the_lock_that_is_made_of_its_tools(name: str) -> None:
    lock = CASES / name / "runtime.lock"

    assert (lock.read_text() if lock.exists() else None) == make_lock(CASES / name)


def test_every_code_of_a_lock_has_a_case() -> None:
    text = "".join((CASES / name / "expected").read_text() for name in NAMES)

    assert [code for code in CODES if code.startswith(("TOOL_", "LOCK_")) and f" {code} " not in text] == []


@pytest.mark.parametrize(
    ("name", "code"), [("tool-limit", 1), ("warn-tool-schema-lossy", 0), ("locked-lock-stale", 1), ("well", 0)]
)
def test_validate_tells_them_and_its_exit_code(name: str, code: int, tmp_path: Path) -> None:
    words = ["--locked"] if name.startswith("locked-") else []

    ended = run(tmp_path, "validate", "set.yaml", *words, cwd=CASES / name)

    told = [line for line in ended.out.splitlines() if line.startswith("set.yaml:")]
    assert (ended.code, told) == (code, (CASES / name / "expected").read_text().splitlines())


def test_another_lock_may_be_named(tmp_path: Path) -> None:
    other = str(CASES / "stale-is-silent" / "runtime.lock")

    ended = run(tmp_path, "validate", "set.yaml", "--locked", "--lock", other, cwd=CASES / "locked-lock-missing")

    assert ended.out.count(" LOCK_STALE ") == 1
    assert ended.out.count(" LOCK_MISSING ") == 2


def test_a_lock_costs_validate_no_heavy_import(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom runtime.cli.main import main\nmain(['validate', 'set.yaml', '--quiet'])\n"
        "print(*sorted({'rfc8785', 'jsonschema', 'asyncio', 'anyio', 'runtime.ai.formats'} & {*sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=CASES / "well",
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.stdout, done.stderr) == ("\n", "")
