"""What a stdio server is started with: the command's path, the environment, the folder."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from runtime.errors import McpError

INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TERM", "TMPDIR", "SHELL", "TZ")
INHERITED_ON_WINDOWS = (
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
)


class Program(Struct, frozen=True):
    """What to start: words, environment and folder as they go to the operating system."""

    command: str
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str | None


def build_environment(own: Mapping[str, str], env: Mapping[str, str], inherit: bool | Sequence[str]) -> dict[str, str]:
    """The server's environment: a short safe list out of `own`, what `inherit` adds, then the manifest's `env`.

    A shell's exported functions (values that begin with `()`) are left out. Without any PATH the system's default
    stands in; an explicit empty one is kept.
    """
    if inherit is True:
        kept = dict(own)
    else:
        names = {*INHERITED, *(inherit or ())}
        if sys.platform == "win32":
            names |= {*INHERITED_ON_WINDOWS}
        kept = {name: value for name, value in own.items() if name in names or name.startswith("LC_")}
        kept = {name: value for name, value in kept.items() if not value.startswith("()")}
    kept.setdefault("PATH", os.defpath)
    return {**kept, **env}


def resolve_word(word: str, folder: Path) -> str:
    """A command or argument that starts with `./` or `../` is a path beside the manifest."""
    return os.path.normpath(folder / word) if word.startswith(("./", "../")) else word


def find_command(command: str, path: str, folder: Path) -> str:
    """The program's file: as it stands when it holds a `/`, else from PATH, else beside our own interpreter.

    Raises `McpError` ERR_MCP_SPAWN when there is none, or it is not a program.
    """
    word = resolve_word(command, folder)
    if os.sep in word or (os.altsep and os.altsep in word):
        check_program(word, command)
        return word
    if sys.platform == "win32":
        import shutil

        if found := shutil.which(word, path=path):
            return found
    places = [*(place for place in path.split(os.pathsep) if place), os.path.dirname(sys.executable)]
    for place in places:
        candidate = os.path.join(place, word)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    hint = "install it, or give its full path in `command`"
    if " " in command:
        hint = "`command` is the program alone; its arguments belong into `args`"
    elif not path:
        hint = "PATH is empty in `env`; give the program's full path in `command`"
    raise McpError(f'no program "{command}" on PATH', code="ERR_MCP_SPAWN", hint=hint)


def prepare_program(
    command: str,
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    inherit: bool | Sequence[str],
    cwd: str | None,
    folder: Path,
    own: Mapping[str, str],
) -> Program:
    """What to start for a stdio client whose manifest lies in `folder`; raises `McpError` ERR_MCP_SPAWN."""
    environment = build_environment(own, env, inherit)
    file = find_command(command, environment["PATH"], folder)
    words = [file, *(resolve_word(word, folder) for word in args)]
    return Program(command, words, environment, find_folder(cwd, folder))


def check_program(file: str, command: str) -> None:
    if os.path.isdir(file):
        reason = "is a folder"
    elif not os.path.exists(file):
        reason = "does not exist"
    elif not os.access(file, os.X_OK):
        reason = "is not executable"
    else:
        return
    raise McpError(f'the program "{command}" {reason}', code="ERR_MCP_SPAWN", hint="correct `command`")


def find_folder(cwd: str | None, folder: Path) -> str | None:
    """The folder to start the server in, relative to the manifest's; None for our own."""
    if cwd is None:
        return None
    place = folder / cwd
    if not place.is_dir():
        raise McpError(f'the folder "{cwd}" does not exist', code="ERR_MCP_SPAWN", hint="correct `cwd`")
    return str(place)
