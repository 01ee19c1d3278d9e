"""The golden corpus of manifests that is shared beside this repository, where it is."""

import os
from pathlib import Path

import pytest

from runtime.checks import check
from runtime.manifest import read_sources

CORPUS = Path(__file__).parents[3] / "shared" / "manifests"

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not beside this repository")


def entries(verdict: str) -> list[str]:
    folder = CORPUS / verdict
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if path.is_dir() or path.suffix in (".yaml", ".yml"))


def findings(path: Path) -> list[str]:
    """As the corpus writes them: `line:column CODE severity`, in a folder's `file:line:column CODE severity`."""
    lines = []
    for found in check(read_sources([str(path)])).diagnostics:
        file = f"{os.path.basename(found.file)}:" if path.is_dir() else ""
        lines.append(f"{file}{found.line}:{found.column} {found.code} {found.severity}")
    return lines


def is_same(found: str, expected: str) -> bool:
    """An expected column of `*` takes any."""
    if ":* " not in expected:
        return found == expected
    before, _, after = expected.partition(":* ")
    return found.startswith(f"{before}:") and found.endswith(f" {after}")


@pytest.mark.parametrize("name", entries("valid"))
def test_a_valid_entry_gives_no_finding(name: str) -> None:
    assert findings(CORPUS / "valid" / name) == []


@pytest.mark.parametrize("name", entries("invalid"))
def test_an_invalid_entry_gives_exactly_what_is_expected(name: str) -> None:
    path = CORPUS / "invalid" / name
    stem = name if path.is_dir() else path.stem
    expected = (path.parent / f"{stem}.expected").read_text(encoding="utf-8").splitlines()

    found = findings(path)

    assert len(found) == len(expected) and all(map(is_same, found, expected)), found
