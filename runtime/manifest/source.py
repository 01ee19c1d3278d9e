"""Where manifests come from: files, folders, globs and standard input, and the places in their texts."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from runtime.errors import UsageError

SUFFIXES = (".yaml", ".yml")
TEST_SUFFIXES = (".test.yaml", ".test.yml")
"""Of files that stand beside a set of manifests and say what is expected of it."""
MOST_BYTES = 64 << 20
"""Of one source; its documents have a bound of their own."""


class Source:
    """The text of one manifest. `name` is how findings name it, `folder` where its relative paths start.

    `data` is the file's bytes: bytes that are not UTF-8 become lone surrogates in `text`, which no valid manifest has.
    A byte order mark is no part of the text.
    """

    __slots__ = ("_lines", "folder", "name", "text")

    def __init__(self, name: str, data: bytes, folder: str) -> None:
        self.name = name
        self.folder = folder
        text = data.decode("utf-8", "surrogateescape")
        self.text = text.removeprefix("\ufeff")
        self._lines: list[int] | None = None

    def position(self, index: int) -> tuple[int, int]:
        """Line and column of a character, from 1. LF, CR LF and CR end a line; nothing else does."""
        from bisect import bisect_right

        starts = self._line_starts()
        line = bisect_right(starts, index)
        return line, index - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        starts = self._line_starts()
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def start_of(self, place: int) -> int:
        """Where a value's own text starts, behind its tag and its anchor, and comments behind those."""
        import re

        found = re.compile(r"(?:[!&]\S*(?:\s+(?:#[^\r\n]*)?)*)*").match(self.text, place)
        return found.end() if found is not None else place

    def _line_starts(self) -> list[int]:
        if self._lines is None:
            import re

            self._lines = [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", self.text))]
        return self._lines


def read_sources(paths: Sequence[str], *, with_tests: bool = False) -> list[Source]:
    """Read files, folders (their own `*.yaml` and `*.yml`), globs and `-` (standard input), in the order of the paths.

    Of a folder its `*.test.yaml` are left out unless `with_tests`. Raises UsageError (exit 2) for a path that is not
    there, cannot be read, or holds no manifest.
    """
    return [_read(name) for name in find_files(paths, with_tests=with_tests)]


def find_files(paths: Sequence[str], *, with_tests: bool = False) -> list[str]:
    """The files that `read_sources` reads, each once; raises what it raises, but for what cannot be read."""
    found = map(_normal, _files(paths, with_tests))
    return sorted({os.path.abspath(name) if name != "-" else name: name for name in found}.values())


def _normal(path: str) -> str:
    """`a/b.yaml` for `./a//b.yaml`, which is the same file."""
    return path if path == "-" else os.path.normpath(path)


def _files(paths: Iterable[str], with_tests: bool) -> Iterator[str]:
    for path in paths:
        if path == "-" or os.path.isfile(path):
            yield path
        elif os.path.isdir(path):
            found = _manifests_in(path, with_tests)
            if not found:
                raise UsageError(f'no *.yaml or *.yml in the folder "{path}"')
            yield from found
        elif any(mark in path for mark in "*?["):
            import glob

            found = [name for name in glob.glob(path, recursive=True) if os.path.isfile(name)]
            if not found:
                raise UsageError(f'no file fits "{path}"')
            yield from found
        elif not os.path.lexists(path):
            raise UsageError(f'no such file or folder: "{path}"')
        else:
            yield path


def _manifests_in(folder: str, with_tests: bool) -> list[str]:
    left_out = () if with_tests else TEST_SUFFIXES
    try:
        entries = [entry for entry in os.scandir(folder) if entry.name.endswith(SUFFIXES) and entry.is_file()]
        return [entry.path for entry in entries if not entry.name.endswith(left_out)]
    except OSError as error:
        raise UsageError(f'cannot read the folder "{folder}": {_reason(error)}') from error


def _read(name: str) -> Source:
    if name == "-":
        return Source("<stdin>", _bounded("standard input", sys.stdin.buffer), os.getcwd())
    try:
        with open(name, "rb") as file:
            return Source(_shown(name), _bounded(f'"{name}"', file), os.path.dirname(os.path.abspath(name)))
    except OSError as error:
        raise UsageError(f'cannot read "{name}": {_reason(error)}') from error


def _bounded(name: str, file: BinaryIO) -> bytes:
    data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UsageError(f"{name} has more than {MOST_BYTES >> 20} MiB")
    return data


def _reason(error: OSError) -> str:
    return (error.strerror or "unknown").lower()


def _shown(name: str) -> str:
    """The name of a file as text that can be printed on one line, whatever bytes it is made of."""
    if name.isprintable():
        return name
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(part if part.isprintable() else part.encode("unicode_escape").decode("ascii") for part in text)
