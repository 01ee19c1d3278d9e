"""Sessions of agents: what was said under a name, in a file or a database."""

import importlib.util
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import anyio
from anyio import to_thread

from runtime.ai.contracts import Message
from runtime.cli.session_file import SessionFile, find_file
from runtime.errors import Error, UsageError
from runtime.masking import Masker

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SQLITE = "sqlite:///"
_POSTGRES = "postgresql://", "postgres://"


class SessionBusy(Error):
    """A session has one run at a time."""

    code = "ERR_SERVE_SESSION_BUSY"


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
    from runtime.serve.session_database import SessionDatabase

    return SessionDatabase(url)


class Sessions:
    """The sessions in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._busy: set[tuple[str, str]] = set()

    @contextmanager
    def claimed(self, name: str, agent: str) -> Iterator[None]:
        """The session is this run's while the block runs, in this service; raises UsageError, SessionBusy."""
        if _NAME.fullmatch(name) is None:
            raise UsageError("the name of a session has 1 to 100 letters, digits, dots, dashes and underscores")
        if (name, agent) in self._busy:
            raise _busy(name)
        self._busy.add((name, agent))
        try:
            yield
        finally:
            self._busy.discard((name, agent))

    @asynccontextmanager
    async def held(self, name: str, agent: str) -> AsyncIterator[None]:
        """The same among all services that share the store."""
        if not await to_thread.run_sync(self._store.hold, name, agent):
            raise _busy(name)
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._store.release, name, agent)

    async def extend(self, name: str, agent: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs with what was said before; raises UsageError where they are no prompt, and as the store."""
        prompt = inputs.get("prompt")
        if type(prompt) is not str:
            raise UsageError("a run of a session takes `prompt`, and has the `messages` of its session")
        said = await to_thread.run_sync(self._store.load, name, agent)
        rest = {key: value for key, value in inputs.items() if key != "prompt"}
        return {**rest, "messages": [*said, Message("user", prompt)]}

    async def keep(self, name: str, agent: str, messages: list[Message], masker: Masker) -> None:
        """Keep what was said; a question that nothing came of is not kept."""
        if messages and messages[-1].role != "user":
            said = messages[1:] if messages[0].role == "system" else messages
            await to_thread.run_sync(self._store.save, name, agent, said, masker)


@asynccontextmanager
async def open_sessions(url: str, folder: Path) -> AsyncIterator[Sessions]:
    """The sessions in the store that a URL names; raises UsageError where it is not to be reached."""
    store = make_store(url, folder)
    await to_thread.run_sync(store.open)
    try:
        yield Sessions(store)
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(store.close)


def _busy(name: str) -> SessionBusy:
    return SessionBusy(f'the session "{name}" has a run that is under way', hint="ask again when it is over")
