"""The wheel holds everything, and works in an environment where there is nothing else of ours."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
QUICKSTART = ROOT / "manifests/quickstart.yaml"
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def call(*words: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run a command that has to succeed, and give its standard output."""
    done = subprocess.run(
        words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy, so that nothing of an earlier build gets into it, and nothing of this one stays."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("runtime", "kinds"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    call(*PIP, "wheel", "--no-deps", "--wheel-dir", folder / "dist", folder)
    return next((folder / "dist").glob("*.whl"))


def test_the_wheel_holds_every_file_of_both_packages(wheel: Path) -> None:
    ours = {
        file.relative_to(ROOT).as_posix()
        for name in ("runtime", "kinds")
        for file in (ROOT / name).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }

    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert held == ours


def test_the_wheel_validates_and_applies_the_quickstart_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    manifest = shutil.copy(QUICKSTART, elsewhere)
    call(sys.executable, "-m", "venv", "--without-pip", home)
    python = home / "bin/python"
    constraints = ["--constraint", ROOT / "constraints.txt"]
    call(*PIP, "--python", python, "install", "--no-compile", *constraints, f"{wheel}[demo]")
    env = {"PATH": os.pathsep.join((str(home / "bin"), os.defpath)), "HOME": str(elsewhere)}

    validated = call("runtime", "validate", manifest, env=env, cwd=elsewhere)
    answer = call("runtime", "apply", manifest, "--prompt", "What time is it in Tokyo?", env=env, cwd=elsewhere)
    places = call(
        python, "-c", "import runtime, kinds; print(runtime.__file__, kinds.__file__)", env=env, cwd=elsewhere
    )

    assert validated == "4 documents: 0 errors, 0 warnings\n"
    assert answer.startswith("In Asia/Tokyo it is 2")
    assert all(place.startswith(str(home)) for place in places.split())
