"""Where sessions of several agents are kept, by the URL that names the place."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from runtime.ai.contracts import Message
from runtime.errors import UsageError
from runtime.masking import Masker
from runtime.sessions.file import SessionFile, find_file

_SQLITE = "sqlite:///"
_POSTGRES = "postgresql://", "postgres://"


class Store(Protocol):
    """Where sessions are kept. All of it blocks, and raises UsageError."""

    def open(self) -> None: ...

    def close(self) -> None: ...

    def hold(self, name: str, agent: str) -> bool: ...

    def release(self, name: str, agent: str) -> None: ...

    def load(self, name: str, agent: str) -> list[Message]: ...

    def save(self, name: str, agent: str, messages: Sequence[Message], masker: Masker) -> None: ...


class FileStore:
    """A file of SQLite, as `runtime chat` keeps its own; one service has it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def open(self) -> None:
        """It is made when there is something to keep."""

    def close(self) -> None:
        """Nothing is open."""

    def hold(self, name: str, agent: str) -> bool:
        return True

    def release(self, name: str, agent: str) -> None:
        """Nothing was locked."""

    def load(self, name: str, agent: str) -> list[Message]:
        return SessionFile(self._file, name, agent, Masker()).load()

    def save(self, name: str, agent: str, messages: Sequence[Message], masker: Masker) -> None:
        SessionFile(self._file, name, agent, masker).save(messages)


def make_store(url: str, folder: Path) -> Store:
    """The store that a URL names: `sqlite:///FILE`, below the folder or absolute, or `postgresql://...`.

    An empty one is the file in `.runtime` of the folder. Raises UsageError; nothing of the URL is told, as it may have
    a password in it.
    """
    if not url:
        return FileStore(find_file(folder))
    if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
        return FileStore(folder / url.removeprefix(_SQLITE))
    if not url.startswith(_POSTGRES):
        raise UsageError("the URL for sessions has to start with sqlite:/// or postgresql://")
    if importlib.util.find_spec("psycopg") is None:
        raise UsageError(
            "sessions in PostgreSQL need psycopg, which is not installed", hint='install "manifest-runtime[postgres]"'
        )
    from runtime.sessions.database import SessionDatabase

    return SessionDatabase(url)
