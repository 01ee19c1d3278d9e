"""Which files make a set that is tested, and which of its cases run."""

import os
from pathlib import Path

import pytest

from runtime.checks import check
from runtime.errors import UsageError
from runtime.manifest import Source, read_sources
from runtime.testing.discovery import choose, find_sets, refuse_none
from runtime.testing.setup import find_cases


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a.yaml", "a.test.yaml", "b.yml", "other.test.yaml", "sub/c.test.yml", "sub/c.yaml", "sub/d.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("kind: A.B\n")
    return tmp_path


@pytest.mark.parametrize(
    ("paths", "sets"),
    [
        (["a.yaml"], [["a.test.yaml", "a.yaml"]]),
        (["a.test.yaml"], [["a.yaml", "a.test.yaml"]]),
        (["other.test.yaml"], [["a.yaml", "b.yml", "other.test.yaml"]]),
        (["a.test.yaml", "sub/c.test.yml"], [["a.yaml", "a.test.yaml"], ["sub/c.yaml", "sub/c.test.yml"]]),
        (["a.yaml", "other.test.yaml"], [["a.test.yaml", "a.yaml", "other.test.yaml"]]),
        (["."], [["a.test.yaml", "a.yaml", "b.yml", "other.test.yaml"]]),
        (["sub/*.yaml"], [["sub/c.test.yml", "sub/c.yaml", "sub/d.yaml"]]),
    ],
)
def test_tests_find_their_manifests_and_manifests_their_tests(
    paths: list[str], sets: list[list[str]], folder: Path
) -> None:
    assert find_sets(paths) == sets


def test_whatever_else_reads_a_folder_leaves_its_tests_out(folder: Path) -> None:
    assert [source.name for source in read_sources(["."])] == ["a.yaml", "b.yml"]
    assert [source.name for source in read_sources(["a.test.yaml"])] == ["a.test.yaml"]


def test_a_path_that_is_not_there_is_told(folder: Path) -> None:
    with pytest.raises(UsageError, match='no such file or folder: "none'):
        find_sets([os.path.join("none", "x.test.yaml")])


def test_cases_are_chosen_by_a_part_of_their_name_or_a_glob() -> None:
    text = "".join(
        f"---\nkind: Test.Case\nmetadata: {{ name: {name} }}\n" for name in ("ReadsNotes", "Writes", "Reads2")
    )
    cases = find_cases(check([Source("set.yaml", text.encode(), ".")]))

    assert [[case.name for case in choose(cases, pattern)] for pattern in (None, "note", "r*s*2", "none")] == [
        ["ReadsNotes", "Writes", "Reads2"],
        ["ReadsNotes"],
        ["Reads2"],
        [],
    ]
    assert refuse_none(cases, "none").hint == "there are: ReadsNotes, Writes, Reads2"
