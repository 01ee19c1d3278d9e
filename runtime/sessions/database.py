"""Where sessions are kept that several services share: a database of PostgreSQL."""

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from runtime.ai.contracts import Message
from runtime.errors import UsageError
from runtime.masking import Masker, mask_json
from runtime.sessions.file import as_data

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS = 10
_TABLE = """
CREATE TABLE IF NOT EXISTS runtime_session_messages (
    session TEXT NOT NULL, agent TEXT NOT NULL, place INTEGER NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY (session, agent, place)
)
"""
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended(%s, 8787))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended(%s, 8787))"

T = TypeVar("T")


class SessionDatabase:
    """Sessions of a database. One connection, opened again when it is lost; its methods block, in any thread.

    A session that is held is locked by that connection: the lock goes with the process, however that ends.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._turn = threading.Lock()
        self._held: set[str] = set()
        self._connection: psycopg.Connection[Any] | None = None

    def open(self) -> None:
        """Connect, and make the table where it is missing. Raises UsageError where that cannot be."""
        self._do(lambda connection: None)

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()

    def hold(self, name: str, agent: str) -> bool:
        """Lock a session; False where another process has it."""
        key = _key(name, agent)

        def lock(connection: "psycopg.Connection[Any]") -> bool:
            row = connection.execute(_LOCK, (key,)).fetchone()
            return bool(row and row[0])

        is_held = self._do(lock)
        if is_held:
            self._held.add(key)
        return is_held

    def release(self, name: str, agent: str) -> None:
        """Give a session back."""
        key = _key(name, agent)
        self._held.discard(key)
        self._do(lambda connection: connection.execute(_UNLOCK, (key,)))

    def load(self, name: str, agent: str) -> list[Message]:
        """What was said so far; nothing where the session is new. Raises UsageError."""
        query = "SELECT message FROM runtime_session_messages WHERE session = %s AND agent = %s ORDER BY place"
        rows = self._do(lambda connection: connection.execute(query, (name, agent)).fetchall())
        try:
            return [msgspec.json.decode(text, type=Message) for (text,) in rows]
        except msgspec.ValidationError as error:
            raise UsageError(f'the database of sessions holds no session "{name}" of this runtime: {error}') from error

    def save(self, name: str, agent: str, messages: Sequence[Message], masker: Masker) -> None:
        """Keep these messages in place of those that were kept; the values of secrets are masked. Raises UsageError."""
        texts = [msgspec.json.encode(mask_json(as_data(message), masker)).decode() for message in messages]

        def replace(connection: "psycopg.Connection[Any]") -> None:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute(
                    "DELETE FROM runtime_session_messages WHERE session = %s AND agent = %s",
                    (name, agent),
                )
                cursor.executemany(
                    "INSERT INTO runtime_session_messages VALUES (%s, %s, %s, %s)",
                    [(name, agent, place, text) for place, text in enumerate(texts)],
                )

        self._do(replace)

    def _do(self, work: "Callable[[psycopg.Connection[Any]], T]") -> T:
        import psycopg

        with self._turn:
            try:
                try:
                    return work(self._connect())
                except psycopg.OperationalError:
                    if self._connection is None or not self._connection.closed:
                        raise
                    return work(self._connect())  # the server went away since the last time: once more, and no more
            except psycopg.Error as error:
                raise UsageError(f"the database of sessions does not do its work: {_tell(error)}") from error

    def _connect(self) -> "psycopg.Connection[Any]":
        import psycopg

        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._url, autocommit=True, connect_timeout=CONNECT_SECONDS, application_name="runtime"
            )
            self._connection.execute("SELECT pg_advisory_lock(8787)")  # two services may start at the same time
            self._connection.execute(_TABLE)
            self._connection.execute("SELECT pg_advisory_unlock(8787)")
            for key in self._held:
                self._connection.execute(_LOCK, (key,))
        return self._connection


def _key(name: str, agent: str) -> str:
    return f"{name}\n{agent}"


def _tell(error: Exception) -> str:
    """The first line of what the driver says, which has no password."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
