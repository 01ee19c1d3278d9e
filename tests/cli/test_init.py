"""`runtime init`: a manifest that works as it stands, `.env` kept out of git, and nothing overwritten."""

import sys
from pathlib import Path

import pytest
from command import BIN, left_behind, run

from runtime.cli.main import main


def only(folder: Path, *programs: str) -> str:
    """A PATH with these programs of our environment, and those of the system that have nothing to do with MCP."""
    folder.mkdir()
    for program in programs:
        (folder / program).symlink_to(BIN / program)
    return str(folder)


def test_with_a_server_on_path_the_manifest_gets_tools_and_answers(tmp_path: Path) -> None:
    made = run(tmp_path, "init", "start")
    validated = run(tmp_path, "validate", "--strict", "start")
    answered = run(tmp_path, "apply", "start/manifest.yaml", "--prompt", "What time is it in Europe/Paris?")

    assert (made.code, made.err) == (0, "")
    assert made.out == (
        "wrote start/manifest.yaml\nadded .env to start/.gitignore\n"
        'next: runtime apply start/manifest.yaml --prompt "What time is it in Europe/Paris?"\n'
    )
    assert validated == (0, "4 documents: 0 errors, 0 warnings\n", "")
    assert answered.code == 0
    assert answered.out.startswith("In Europe/Paris it is 2")
    assert left_behind(tmp_path) == []


def test_without_a_server_the_manifest_works_all_the_same(tmp_path: Path) -> None:
    path = only(tmp_path / "bin")

    made = run(tmp_path, "init", PATH=path)
    validated = run(tmp_path, "validate", "--strict", "manifest.yaml")
    answered = run(tmp_path, "apply", "manifest.yaml", "--prompt", "My name is Ada.", PATH=path)

    assert made.code == 0
    assert 'no server was found for it: "python -m pip install mcp-server-time" brings one\n' in made.out
    assert validated == (0, "2 documents: 0 errors, 0 warnings\n", "")
    assert (answered.code, answered.out.startswith("Hello, Ada.")) == (0, True)


def test_uvx_on_path_starts_the_server(tmp_path: Path) -> None:
    path = only(tmp_path / "bin")
    uvx = tmp_path / "bin/uvx"
    uvx.write_text(f'#!{sys.executable}\nimport os, sys\nos.execv("{BIN}/" + sys.argv[1], sys.argv[1:])\n')
    uvx.chmod(0o755)

    made = run(tmp_path, "init", PATH=path)
    answered = run(tmp_path, "apply", "manifest.yaml", "--prompt", "And in Asia/Tokyo?", PATH=path)

    assert made.code == 0
    assert "command: uvx\nargs: [mcp-server-time]\n" in (tmp_path / "manifest.yaml").read_text()
    assert (answered.code, answered.out.startswith("In Asia/Tokyo it is 2")) == (0, True)


def test_a_manifest_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").write_text("mine\n")

    ended = run(tmp_path, "init")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        'error: "manifest.yaml" is there already [ERR_USAGE]\n    hint: nothing is overwritten: name another folder\n'
    )
    assert (tmp_path / "manifest.yaml").read_text() == "mine\n"
    assert not (tmp_path / ".gitignore").exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("build/", "build/\n.env\n"),
        ("build/\n", "build/\n.env\n"),
        ("build/\r\n", "build/\r\n.env\n"),
        ("# keys\n/.env\n", "# keys\n/.env\n"),
        ("!.env\n", "!.env\n.env\n"),
    ],
)
def test_env_is_added_to_a_gitignore_that_does_not_name_it(before: str, after: str, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(before.encode())

    assert main(["init", str(tmp_path)]) == 0

    assert (tmp_path / ".gitignore").read_bytes() == after.encode()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    ended = run(tmp_path, "init", "file/below")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err == 'error: cannot write "file/below": not a directory [ERR_USAGE]\n'
