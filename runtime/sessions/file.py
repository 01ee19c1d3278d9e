"""Where named sessions are kept: a SQLite file that only its owner can read."""

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from runtime.ai.contracts import Message
from runtime.errors import UsageError
from runtime.masking import Masker, mask_json

FOLDER, FILE = ".runtime", "sessions.db"
_TABLE = """
CREATE TABLE IF NOT EXISTS messages (
    session TEXT NOT NULL, agent TEXT NOT NULL, place INTEGER NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY (session, agent, place)
) WITHOUT ROWID
"""


def find_file(folder: Path) -> Path:
    """Where the sessions of manifests in this folder are, unless somebody says otherwise."""
    return folder / FOLDER / FILE


class SessionFile:
    """The session of one name with one agent, in a file."""

    def __init__(self, file: Path, name: str, agent: str, masker: Masker) -> None:
        self._file = file
        self._key = (name, agent)
        self._masker = masker

    def load(self) -> list[Message]:
        """What was said so far; nothing where the session is new. Raises UsageError for a file that will not do."""
        if not self._file.exists():
            return []
        with self._open() as database:
            rows = database.execute(
                "SELECT message FROM messages WHERE session = ? AND agent = ? ORDER BY place", self._key
            ).fetchall()
        try:
            return [msgspec.json.decode(text, type=Message) for (text,) in rows]
        except msgspec.ValidationError as error:
            raise UsageError(f'"{self._file}" holds no session of this runtime: {error}') from error

    def save(self, messages: Sequence[Message]) -> None:
        """Keep these messages in place of those that were kept; the values of secrets are masked."""
        rows = [
            (*self._key, place, msgspec.json.encode(mask_json(as_data(message), self._masker)).decode())
            for place, message in enumerate(messages)
        ]
        with self._open() as database, database:
            database.execute("DELETE FROM messages WHERE session = ? AND agent = ?", self._key)
            database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The database, made for its owner alone; SQLite gives its journal the mode of the file."""
        folder = self._file.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            mode = os.fstat(descriptor).st_mode
            os.close(descriptor)
        except OSError as error:
            why = (error.strerror or "unknown").lower()
            raise UsageError(f'the session cannot be kept in "{self._file}": {why}') from error
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UsageError(f'"{self._file}" can be read by others', hint="set its mode to 0600, or delete it")
        try:
            with closing(sqlite3.connect(self._file, timeout=5)) as database:
                database.execute(_TABLE)
                yield database
        except sqlite3.Error as error:
            raise UsageError(f'the session cannot be kept in "{self._file}": {error}') from error


def as_data(message: Message) -> dict[str, Any]:
    """A message as JSON values, in the form in which an agent takes `messages`."""
    data: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(message, wire={}))
    return data
