"""Live servers held against the lock: at the start, and whenever one of them lists its tools anew."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.errors import ExpectationError
from runtime.lock.comparison import Difference, compare_tools, state
from runtime.lock.contents import Lock, LockedServer, LockError
from runtime.lock.listing import lock_tools
from runtime.masking import Masker
from runtime.mcp.contracts import Client, ServerInfo

SHOWN = 5
"""Differences that an error's message tells; all of them are in its details."""


class LockGuard:
    """What a run's clients list, against the lock. `warn` is told of a client and of what differs.

    With `locked` a difference is an ExpectationError (ERR_LOCK): those of the start all together when `meet` is called,
    before any model is asked; later ones where the changed list is asked for, so that no model sees it.
    """

    def __init__(self, lock: Lock, *, locked: bool, masker: Masker, warn: Callable[[str, str], None]) -> None:
        self._lock = lock
        self._is_locked = locked
        self._masker = masker
        self._warn = warn
        self._clients: list[GuardedClient] = []
        self._found: list[Difference] = []
        self._is_met = False

    def protect(self, key: str, client: Client) -> Client:
        """The client, its lists held against the entry that the lock has under its key; itself where it has none."""
        server = self._lock.servers.get(key)
        if server is None:
            return client
        guarded = GuardedClient(client, key, server, self)
        self._clients.append(guarded)
        return guarded

    async def meet(self) -> None:
        """Hold all clients against the lock, after the start. Raises ExpectationError where it is locked."""
        for client in self._clients:
            await client.list_tools()
            self._compare_server(client)
        self._is_met = True
        found, self._found = self._found, []
        self._tell(found)

    def compare(self, client: "GuardedClient", listed: Sequence[Mapping[str, Any]]) -> None:
        """Hold a list that is new against the lock. Raises ExpectationError once the start is over."""
        if client.server is None:
            return  # an optional server that is not there lists nothing
        try:
            found = list(compare_tools(client.key, client.locked.tools, lock_tools(listed, self._masker)))
        except LockError as error:
            message = f'the lock "{self._lock.path}" was tampered with: line {error.line}: {error.message}'
            raise ExpectationError(message, code="ERR_LOCK", hint='"runtime lock" writes it anew') from error
        if self._is_met:
            self._tell(found)
        else:
            self._found += found

    def _compare_server(self, client: "GuardedClient") -> None:
        """Another server, or another version of it, that offers the same tools is worth a word, and no more."""
        info, locked = client.server, client.locked
        if info is None:
            return
        old, new = f"{locked.name} {locked.version}", self._masker(f"{info.name} {info.version}")
        if old != new:
            self._warn(client.key, f"the server is {new}, and was {old} when it was locked")

    def _tell(self, found: Sequence[Difference]) -> None:
        if not found:
            return
        if not self._is_locked:
            for each in found:
                self._warn(each.client, f"{state(each)}, against the lock")
            return
        shown = "; ".join(f"{each.client}: {state(each)}" for each in found[:SHOWN])
        more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise ExpectationError(
            f'not as the lock "{self._lock.path}" has it: {shown}{more}',
            code="ERR_LOCK",
            hint='"runtime lock --check" tells all; when it is meant, run "runtime lock" and commit the file',
            details={"differences": [each.as_data() for each in found]},
        )


class GuardedClient:
    """Keeps the contract `Mcp.Client`; everything but the list of tools goes straight to the client itself."""

    def __init__(self, client: Client, key: str, locked: LockedServer, guard: LockGuard) -> None:
        self.key = key
        self.locked = locked
        self._client = client
        self._guard = guard
        self._seen: Sequence[Mapping[str, Any]] | None = None
        self.call_tool = client.call_tool
        self.request = client.request

    def __getattr__(self, name: str) -> Any:
        """What a client has beside its contract, such as `lifetime`."""
        return getattr(self._client, name)

    @property
    def name(self) -> str:
        return self._client.name

    @property
    def server(self) -> ServerInfo | None:
        return self._client.server

    @property
    def tools_generation(self) -> int:
        return self._client.tools_generation

    async def list_tools(self) -> Sequence[Mapping[str, Any]]:
        """The client's tools. Raises ExpectationError where they are not as the lock demands."""
        listed = await self._client.list_tools()
        if listed is not self._seen:
            self._guard.compare(self, listed)
            self._seen = listed
        return listed
