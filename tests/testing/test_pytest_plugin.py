"""The plugin of pytest, in a pytest of its own."""

import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from command import Ended, environment

ROOT = Path(__file__).parent.parent.parent
PLUGIN = "runtime.testing.pytest_plugin"
SET = """\
kind: Ai.ScriptedModel
metadata: { name: Model }
turns: [{ text: hello }]
---
kind: Ai.Completion
metadata: { name: Writer }
model: !ref Model
"""
CASES = """\
kind: Test.Case
metadata: { name: Good }
agent: !ref Writer
prompt: Say hello.
cassette: tape
expect: { text: { equals: hello } }
---
kind: Test.Case
metadata: { name: Bad }
agent: !ref Writer
prompt: Say hello.
expect: { text: { equals: bye } }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "writer.yaml").write_text(SET)
    (tmp_path / "writer.test.yaml").write_text(CASES)
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    return tmp_path


def run_pytest(folder: Path, *words: str, **more: str) -> Ended:
    is_installed = any(entry.value == PLUGIN for entry in entry_points(group="pytest11"))
    plugin = [] if is_installed else ["-p", PLUGIN]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-q", *plugin]
    env = environment(folder, **more)
    done = subprocess.run([*command, *words], env=env, cwd=folder, capture_output=True, text=True, timeout=60)
    return Ended(done.returncode, done.stdout, done.stderr)


def test_the_plugin_is_what_the_entry_point_names() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]

    assert declared == {"manifest-runtime": PLUGIN}


def test_cases_are_items_beside_the_tests_of_the_team(folder: Path) -> None:
    recorded = run_pytest(folder, "--record-missing", "-k", "Good")
    ended = run_pytest(folder, "-W", "error")

    assert (recorded.code, recorded.out.splitlines()[-1].partition(" in ")[0]) == (0, "1 passed, 2 deselected")
    assert (folder / "tape/Model.yaml").is_file()
    assert ended.code == 1
    assert ended.out.splitlines()[-1].startswith("1 failed, 2 passed in ")
    report = "writer.test.yaml:8: Bad failed\n    text.equals: the text is another one\n      -bye\n      +hello\n"
    assert report in ended.out
    assert "FAILED writer.test.yaml::Bad" in ended.out


def test_a_set_that_is_invalid_is_an_error_of_its_file(folder: Path) -> None:
    (folder / "writer.yaml").write_text(SET.replace("!ref Model", "!ref Modell"))

    ended = run_pytest(folder)

    assert ended.code == 2
    assert 'writer.yaml:7:8: error REF_UNRESOLVED there is no resource "Modell"' in ended.out


def test_nothing_is_recorded_in_ci(folder: Path) -> None:
    ended = run_pytest(folder, "--record-all", CI="true")

    assert "nothing is recorded in CI" in ended.out
    assert not (folder / "tape").exists()
