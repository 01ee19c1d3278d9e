"""The command, the environment and the folder that a server is started with."""

import os
import sys
from pathlib import Path

import pytest

from runtime.errors import McpError
from runtime.mcp.environment import build_environment, prepare_program

OWN = {"PATH": "/usr/bin:/bin", "HOME": "/root", "LC_ALL": "C", "OPENAI_API_KEY": "k", "PROXY": "p", "F": "() { x; }"}


@pytest.mark.parametrize(
    "env, inherit, expected",
    [
        ({}, False, {"PATH": "/usr/bin:/bin", "HOME": "/root", "LC_ALL": "C"}),
        ({"A": "1"}, ["PROXY"], {"PATH": "/usr/bin:/bin", "HOME": "/root", "LC_ALL": "C", "PROXY": "p", "A": "1"}),
        ({"HOME": "/x"}, True, {**OWN, "HOME": "/x"}),
        ({"PATH": ""}, False, {"PATH": "", "HOME": "/root", "LC_ALL": "C"}),
    ],
)
def test_a_server_inherits_a_short_list_and_what_it_is_given(env, inherit, expected):
    assert build_environment(OWN, env, inherit) == expected


def test_a_server_has_a_path_where_we_have_none():
    assert build_environment({}, {}, False) == {"PATH": os.defpath}


def test_an_exported_shell_function_is_not_inherited():
    assert build_environment({"TERM": "() { x; }"}, {}, False) == {"PATH": os.defpath}


def prepare(command: str, *args: str, folder: Path, cwd: str | None = None, path: str = "/usr/bin:/bin"):
    return prepare_program(command, args, env={}, inherit=False, cwd=cwd, folder=folder, own={"PATH": path})


def make_program(file: Path) -> str:
    file.parent.mkdir(exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return str(file)


def test_a_command_is_found_on_path_in_its_order(tmp_path):
    make_program(tmp_path / "second" / "tool")
    first = make_program(tmp_path / "first" / "tool")
    path = os.pathsep.join(("", str(tmp_path / "none"), str(tmp_path / "first"), str(tmp_path / "second")))

    assert prepare("tool", "-x", folder=tmp_path, path=path).argv == [first, "-x"]


def test_a_command_that_is_not_on_path_is_looked_for_beside_our_interpreter(tmp_path):
    name = os.path.basename(sys.executable)

    assert prepare(name, folder=tmp_path, path="/none").argv == [sys.executable]


def test_relative_words_lie_beside_the_manifest(tmp_path):
    server = make_program(tmp_path / "bin" / "server")
    program = prepare("./bin/server", "./data", "../x", "~/y", "$HOME", "a;b", ".", folder=tmp_path)

    assert program.argv == [server, str(tmp_path / "data"), str(tmp_path.parent / "x"), "~/y", "$HOME", "a;b", "."]


def test_a_folder_lies_beside_the_manifest(tmp_path):
    (tmp_path / "work").mkdir()

    assert prepare("sh", folder=tmp_path, cwd="work").cwd == str(tmp_path / "work")
    assert prepare("sh", folder=tmp_path).cwd is None


@pytest.mark.parametrize(
    "command, path, message, hint",
    [
        ("no-such-4711", "/bin", 'no program "no-such-4711" on PATH', "install it, or give its full path in `command`"),
        (
            "npx -y x",
            "/bin",
            'no program "npx -y x" on PATH',
            "`command` is the program alone; its arguments belong into `args`",
        ),
        (
            "npx-4711",
            "",
            'no program "npx-4711" on PATH',
            "PATH is empty in `env`; give the program's full path in `command`",
        ),
        ("./plain", "/bin", 'the program "./plain" is not executable', "correct `command`"),
        ("/", "/bin", 'the program "/" is a folder', "correct `command`"),
        ("./none", "/bin", 'the program "./none" does not exist', "correct `command`"),
    ],
)
def test_a_command_that_cannot_run_is_told_with_what_to_do(tmp_path, command, path, message, hint):
    (tmp_path / "plain").write_text("x")
    with pytest.raises(McpError) as caught:
        prepare(command, folder=tmp_path, path=path)

    assert (caught.value.code, caught.value.message, caught.value.hint) == ("ERR_MCP_SPAWN", message, hint)


def test_a_folder_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(McpError) as caught:
        prepare("sh", folder=tmp_path, cwd="none")

    assert (caught.value.code, caught.value.message) == ("ERR_MCP_SPAWN", 'the folder "none" does not exist')
