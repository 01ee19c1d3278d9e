"""Golden pairs: a manifest, or a folder that is one set, and the exact output of `runtime validate` for it.

`valid/` gives no finding at all. In `invalid/` the output stands beside the manifest in NAME.out; a first line such as
`# validate --env` says with which options. After a change that is meant:

    python tests/checks/test_golden.py
"""

import gc
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from runtime.cli.main import main
from runtime.diagnostics import CODES

GOLDEN = Path(__file__).parent.parent / "golden"
LISTS = re.compile("(kinds that (?:implement it|fit)): .*")
"""Which kinds there are is no matter of these pairs."""

INVALID = GOLDEN / "invalid"
VALID = GOLDEN / "valid"


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir() or path.suffix in (".yaml", ".yml"))


def options(folder: Path, name: str) -> list[str]:
    path = folder / name
    first = path.read_bytes().partition(b"\n")[0].decode("utf-8", "replace") if path.is_file() else ""
    return first.removeprefix("# validate ").split() if first.startswith("# validate ") else []


def validate(folder: Path, name: str) -> tuple[int, str]:
    """The exit code and the output of the command, in process; the folder is the working directory."""
    output = StringIO()
    with redirect_stdout(output):
        code = main(["validate", *options(folder, name), name])
    gc.enable()  # the command ends its process; this one goes on
    return code, LISTS.sub(r"\1: ...", output.getvalue())


@pytest.fixture
def invalid(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(INVALID)
    monkeypatch.setenv("GOLDEN_STARS", "seven")
    monkeypatch.setenv("GOLDEN_KEY", "too short")
    monkeypatch.delenv("GOLDEN_DOME", raising=False)
    yield INVALID


@pytest.mark.parametrize("name", entries(INVALID))
def test_an_invalid_set_gives_exactly_these_findings(name: str, invalid: Path) -> None:
    expected = (invalid / name).with_suffix(".out").read_text(encoding="utf-8")

    code, output = validate(invalid, name)

    assert output == expected
    assert code == (1 if ": error " in expected else 0)


@pytest.mark.parametrize("name", entries(VALID))
def test_a_valid_set_gives_no_finding(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(VALID)

    code, output = validate(VALID, name)

    assert (code, output.splitlines()[:-1]) == (0, [])


def test_every_code_is_in_some_golden_pair() -> None:
    seen = {word for path in INVALID.glob("*.out") for word in path.read_text(encoding="utf-8").split()}

    assert CODES.keys() - seen == (NEEDS_A_LOCK | NEEDS_AN_EXTRA_TO_LACK) & CODES.keys()


NEEDS_AN_EXTRA_TO_LACK = {"EXTRA_MISSING"}  # tests/kinds/durable/test_store.py


NEEDS_A_LOCK = {
    "TOOL_UNKNOWN",
    "TOOL_COLLISION",
    "TOOL_NAME_INVALID",
    "TOOL_SCHEMA_LOSSY",
    "TOOL_LIMIT",
    "LOCK_MISSING",
    "LOCK_STALE",
}
"""Codes that come with a lock, and are tested with it."""


def write_outputs() -> None:
    import os

    os.chdir(INVALID)
    os.environ |= {"GOLDEN_STARS": "seven", "GOLDEN_KEY": "too short"}
    for name in entries(INVALID):
        Path(name).with_suffix(".out").write_text(validate(INVALID, name)[1], encoding="utf-8")


if __name__ == "__main__":
    sys.exit(write_outputs())
