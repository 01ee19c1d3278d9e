"""Sessions of a service: one run at a time has what was said under a name, and adds to it."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from runtime.ai.contracts import Message
from runtime.errors import Error, UsageError
from runtime.masking import Masker
from runtime.sessions.store import Store, make_store

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class SessionBusy(Error):
    """A session has one run at a time."""

    code = "ERR_SERVE_SESSION_BUSY"


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
