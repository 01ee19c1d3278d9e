"""The manifests of one folder as one set, the texts of an editor in place of those on disk."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from runtime.checks import Checked, check
from runtime.lsp.documents import is_manifest, split_documents
from runtime.lsp.tree import Fields
from runtime.manifest import Source
from runtime.manifest.source import MOST_BYTES, SUFFIXES
from runtime.registry import Registry


class Declaration(NamedTuple):
    """A named resource: the place of its name, `start` to `end`, in the text of its source."""

    source: Source
    outline: Fields
    name: str
    start: int
    end: int

    @property
    def kind(self) -> str:
        return self.outline.text("kind")


class Folder:
    """The set that `runtime validate FOLDER` would check, with texts that nobody has saved yet.

    YAML files that are no manifests are left out: an editor attaches a language server to all of them.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.checked: Checked | None = None
        self._files: dict[str, tuple[tuple[int, int], Source]] = {}

    @property
    def registry(self) -> Registry:
        """The kinds that the set can name, as of the last check."""
        return self.checked.resources.registry if self.checked is not None else Registry()

    def sources(self, opened: Mapping[str, str]) -> list[Source]:
        """The manifests, in the order of their paths; `opened` are the texts of the editor by path."""
        names = {path for path in opened if os.path.dirname(path) == self.path} | self._paths()
        found: list[Source] = []
        for path in sorted(names):
            source = Source(path, opened[path].encode("utf-8", "surrogatepass"), self.path) if path in opened else None
            source = source or self._read(path)
            if source is not None and is_manifest(source.text):
                found.append(source)
        return found

    def check(self, opened: Mapping[str, str]) -> Checked:
        """Check the set as it is now."""
        self.checked = check(self.sources(opened))
        return self.checked

    def _paths(self) -> set[str]:
        try:
            entries = list(os.scandir(self.path))
        except OSError:
            return set()
        return {entry.path for entry in entries if entry.name.endswith(SUFFIXES) and entry.is_file()}

    def _read(self, path: str) -> Source | None:
        """A file, read again when it has changed; None where it cannot be read."""
        try:
            state = os.stat(path)
            version = (state.st_mtime_ns, state.st_size)
            if path not in self._files or self._files[path][0] != version:
                with open(path, "rb") as file:
                    self._files[path] = (version, Source(path, file.read(MOST_BYTES), self.path))
        except OSError:
            return None
        return self._files[path][1]


def find_declarations(sources: list[Source]) -> list[Declaration]:
    """Every resource of the sources that has a name, in order."""
    return [
        Declaration(source, document.outline, name.text, document.start + name.start, document.start + name.end)
        for source in sources
        for document in split_documents(source.text)
        if (name := document.name)
    ]
