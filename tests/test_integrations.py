"""The hook for pre-commit and the action for GitHub, run as those would run them."""

import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import Ended, environment, run

ROOT = Path(__file__).parent.parent
VALID = """\
kind: Ai.ScriptedModel
metadata: { name: Model }
---
kind: Ai.Agent
metadata: { name: Agent }
model: !ref Model
"""
WARNED = VALID.replace("!ref Model", "{ kind: Ai.ScriptedModel }")
INVALID = VALID.replace("!ref Model", "!ref Modell")
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
"""How GitHub runs a step of `shell: bash`."""


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    folder = tmp_path / "manifests"
    folder.mkdir()
    return folder


def test_the_hook_of_pre_commit_fails_where_the_set_is_invalid(manifests: Path, tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *words = [*shlex.split(hook["entry"]), *hook["args"]]

    (manifests / "a.yaml").write_text(VALID)
    fine = run(tmp_path, *words)
    (manifests / "a.yaml").write_text(INVALID)
    broken = run(tmp_path, *words)

    assert (program, hook["language"], hook["pass_filenames"]) == ("runtime", "python", False)
    assert fine == (0, "", "")
    assert broken.code == 1
    assert broken.out.startswith("manifests/a.yaml:6:8: error REF_UNRESOLVED ")


def take_step(step: dict[str, Any], folder: Path, inputs: dict[str, str], **more: str) -> Ended:
    """Run a step of the composite action in a folder, with inputs filled in where it names them."""
    values = dict(step.get("env", {}))
    for name, value in inputs.items():
        values = {key: text.replace(f"${{{{ inputs.{name} }}}}", value) for key, text in values.items()}
    env = {**environment(folder), **values, **more}
    done = subprocess.run([*BASH, step["run"]], env=env, cwd=folder, capture_output=True, text=True, timeout=120)
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("text", "strict", "code", "words"),
    [
        (VALID, "false", 0, []),
        (INVALID, "false", 1, ["::error file=manifests/a.yaml,line=6,col=8,title=REF_UNRESOLVED::"]),
        (WARNED, "false", 0, ["::warning file=manifests/a.yaml,line=2,col=19,title=RESOURCE_UNUSED::"]),
        (WARNED, "true", 1, ["::warning file=manifests/a.yaml,line=2,col=19,title=RESOURCE_UNUSED::"]),
    ],
)
def test_the_action_shows_findings_at_their_lines(
    manifests: Path, tmp_path: Path, text: str, strict: str, code: int, words: list[str]
) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    inputs = {name: each["default"] for name, each in action["inputs"].items()} | {"strict": strict}
    (manifests / "a.yaml").write_text(text)

    ended = take_step(action["runs"]["steps"][1], tmp_path, inputs)

    assert ended.code == code
    assert [line[: len(word)] for line, word in zip(ended.out.splitlines(), words, strict=True)] == words


def test_the_action_installs_the_command_from_its_own_checkout(tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    checkout = tmp_path / "checkout"
    for name in ("runtime", "kinds"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout / name)
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    packages = next((home / "lib").glob("python*/site-packages"))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))  # the test of the wheel installs them

    path = f"{home / 'bin'}:/usr/bin:/bin"
    ended = take_step(
        action["runs"]["steps"][0], tmp_path, {}, PATH=path, GITHUB_ACTION_PATH=str(checkout), PIP_NO_DEPS="1"
    )
    version = subprocess.run([home / "bin/runtime", "--version"], cwd=tmp_path, capture_output=True, text=True)

    assert ended.code == 0, ended.err
    assert version.stdout.startswith("runtime ")
