"""`McpClient`: what a client kind yields. It outlives single connections: lost sessions, servers that come late."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, runtime_checkable

from anyio import CancelScope

from runtime.errors import McpError
from runtime.kind import Context
from runtime.mcp.changes import watch_changes
from runtime.mcp.connection import METHOD_NOT_FOUND, Connection, Wire, copy_error
from runtime.mcp.contracts import ServerInfo
from runtime.mcp.ear import Ear
from runtime.mcp.retrying import Restarts, find_pause, persist
from runtime.mcp.session import MODERN_VERSIONS, Session
from runtime.mcp.settings import Settings
from runtime.mcp.spans import tool_call_span
from runtime.mcp.tool_list import describe_changes, fetch_tools
from runtime.runs import call_key
from runtime.telemetry import propagation

LATE_PAUSES = (5.0, 10.0, 20.0, 40.0, 60.0)  # seconds between the tries of an optional server in the background
FAILED_GRACE = 1.0  # seconds that a server whose start failed gets to leave by itself

Dial = Callable[[Connection, float], Awaitable[Wire]]
"""Opens a way to the server, until a moment of the loop's clock; raises `McpError`."""

CALL_KEY = "runtime/idempotencyKey"
"""In `_meta` of a call that belongs to a kept run: the same when the call is made again, and of no other call.

https://modelcontextprotocol.io/specification/2025-11-25/basic#_meta: what stands before the slash is the prefix.
"""


class McpClient:
    """Keeps the contract `Mcp.Client`; made by `open_client`."""

    def __init__(self, settings: Settings, dial: Dial, context: Context) -> None:
        self.name = context.name
        self.tools_generation = 0
        self._settings = settings
        self._dial = dial
        self._context = context
        self._ear = Ear(context, settings.handlers, self._outdate_tools)
        self._protocol = settings.protocol
        self._session: Session | None = None
        self._failure = self._error("the client is closed")  # why there is no session
        self._opening = asyncio.Lock()
        self._restarts = Restarts()
        self._tools: list[Mapping[str, Any]] = []
        self._listed = -1  # the generation of the list that we hold
        self._listing = asyncio.Lock()
        self._late: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def server(self) -> ServerInfo | None:
        return self._session.info if self._session else None

    @property
    def lifetime(self) -> str:
        """`shared` or `run`, as the manifest says."""
        return self._settings.lifetime

    @property
    def instructions(self) -> str:
        """What the server says of its use, for the system text of agents; empty unless `serverInstructions: system`."""
        return self.server.instructions if self.server and self._settings.tells_instructions else ""

    @property
    def summary(self) -> str:
        """What came up, in a few words."""
        return f"{len(self._tools)} tools, MCP {self._session.version}" if self._session else "not there"

    @property
    def health(self) -> tuple[str, str]:
        """`ready`, `starting` or `failed`, and why it is not ready."""
        failure = self._session.connection.failure if self._session else self._failure
        if failure is None:
            return "ready", ""
        again = "; the next call opens another connection" if self._session and self._settings.restarts else ""
        return "starting" if self._opening.locked() else "failed", f"{describe(failure)}{again}"

    # -- the contract ----------------------------------------------------------------------

    async def list_tools(self) -> Sequence[Mapping[str, Any]]:
        """The tools as the server sent them; [] while an optional server is not there. Raises `McpError`."""
        if self._session is None or self._listed == self.tools_generation:
            return self._tools
        async with self._listing:
            if self._listed != self.tools_generation:
                await self._refresh_tools()
        return self._tools

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, timeout_ms: int | None = None
    ) -> Mapping[str, Any]:
        tool = next((tool for tool in self._tools if tool["name"] == name), None) if self._settings.is_http else None
        seconds = self._settings.call_timeout if timeout_ms is None else timeout_ms / 1000
        with tool_call_span(name, self.server, is_http=self._settings.is_http) as span:
            params: dict[str, Any] = {"name": name, "arguments": arguments}
            if key := call_key():
                params["_meta"] = {CALL_KEY: key}
            result = await self._ask("tools/call", params, seconds, tool)
            if result.get("isError"):
                span.fail("tool_error")
        return result

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        return await self._ask(method, params, self._settings.call_timeout, None)

    # -- one request -----------------------------------------------------------------------

    async def _ask(
        self, method: str, params: Mapping[str, Any] | None, seconds: float, tool: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """The result; repeated once, and only where the server says that it did not carry it out."""
        if meta := propagation():
            params = {**(params or {}), "_meta": {**meta, **((params or {}).get("_meta") or {})}}
        session = await self._get_session()
        deadline = session.connection.now() + seconds
        try:
            return await self._send(session, method, params, deadline, tool)
        except McpError as error:
            await self._prepare_repeat(session, error, deadline)
        return await self._send(session, method, params, deadline, tool)

    async def _send(
        self,
        session: Session,
        method: str,
        params: Mapping[str, Any] | None,
        deadline: float,
        tool: Mapping[str, Any] | None,
    ) -> Mapping[str, Any]:
        now, extends = session.connection.now(), self._settings.extends_on_progress
        return await session.request(
            method,
            params,
            deadline,
            ask=self._ear.requested,
            tool=tool,
            patience=deadline - now if extends else 0.0,
            last=now + self._settings.call_timeout_max if extends else 0.0,
            on_progress=self._ear.progressed if method == "tools/call" else None,
        )

    async def _prepare_repeat(self, session: Session, error: McpError, deadline: float) -> None:
        """Make ready for a second try of a request that was refused before it ran; raises `error` otherwise."""
        if error.code == "ERR_MCP_SESSION_INVALID" and not self._settings.is_adopted:
            await self._renew(session, error.details["session"], deadline)
            return
        seconds = find_pause(error)
        if seconds is None or session.connection.now() + seconds >= deadline:
            raise error
        await asyncio.sleep(seconds)

    async def _renew(self, session: Session, stale: int, deadline: float) -> None:
        """A new HTTP session in place of one that the server forgot: one for all the calls that met it."""
        async with self._opening:
            wire = session.connection.wire
            if not isinstance(wire, HasSession) or wire.session_number != stale:
                return
            wire.session_id = None
            await session.negotiate("legacy", deadline)
            await wire.flush(deadline - session.connection.now())
            self._outdate_tools()

    # -- the connection --------------------------------------------------------------------

    async def start(self) -> None:
        """Open the first connection; that of an optional server may fail with a warning."""
        try:
            async with self._opening:
                await self._open_session()
        except McpError as error:
            error.resource = error.resource or self.name
            if self._settings.is_required:
                raise
            self._failure = error
            self._context.warn(f"{describe(error)}; it is optional, the run goes on without its tools")
            self._late = asyncio.get_running_loop().create_task(self._try_later())

    async def _try_later(self) -> None:
        tries = 0
        while self._session is None:
            await asyncio.sleep(LATE_PAUSES[min(tries, len(LATE_PAUSES) - 1)])
            tries += 1
            try:
                async with self._opening:
                    await self._open_session()
            except McpError as error:
                self._failure = error
                self._context.log(f"still not there: {describe(error)}")
            else:
                self._context.log(f"the server is there now: {self.summary}")

    async def _get_session(self) -> Session:
        """The session that lives, after opening a new one where the last one was lost and `restart` allows it."""
        session = self._session
        if session and not session.connection.failure and not self._opening.locked():
            return session
        async with self._opening:
            session = self._session
            if session is None:
                raise copy_error(self._failure)
            failure = session.connection.failure
            if failure is None:
                return session
            if not self._settings.restarts or self._is_closed:
                raise copy_error(failure)
            await self._restarts.pause(failure)
            await self._close_session(FAILED_GRACE)
            self._context.log("the connection was lost; opening a new one")
            return await self._open_session()

    async def _open_session(self) -> Session:
        """Connect, agree on an era, list the tools; a stdio server that the probe ended is started once more."""
        deadline = asyncio.get_running_loop().time() + self._settings.connect_timeout
        self._restarts.note_opening()
        try:
            session = await self._open_once(self._protocol, deadline)
        except McpError as error:
            if self._protocol != "auto" or self._settings.is_http or error.code != "ERR_MCP_TRANSPORT":
                raise
            session = await self._open_once("legacy", deadline)
        if self._settings.protocol == "auto":
            self._protocol = session.version if session.version in MODERN_VERSIONS else "legacy"
        self._session = session
        return session

    async def _open_once(self, protocol: str, deadline: float) -> Session:
        connection = Connection(self.name, self._ear, self._context.mask)
        wire = connection.wire = await self._dial(connection, deadline)
        settings = self._settings
        session = Session(connection, settings.client_info, settings.capabilities, is_http=settings.is_http)
        try:
            if settings.is_adopted:
                session.adopt()
            else:
                await persist(connection, deadline, lambda: session.negotiate(protocol, deadline))
                await wire.flush(deadline - connection.now())
            self._watch = asyncio.get_running_loop().create_task(watch_changes(session, self._outdate_tools))
            await asyncio.sleep(0)  # the watch begins before the list is read, so that no change is missed
            generation = self.tools_generation
            self._take_tools(await persist(connection, deadline, lambda: self._fetch_tools(session, deadline)))
        except BaseException:
            with CancelScope(shield=True):
                await self._stop_watch()
                await connection.close()
                await wire.close(min(settings.grace, FAILED_GRACE))
            raise
        self._listed = generation
        return session

    async def _stop_watch(self) -> None:
        if self._watch:
            self._watch.cancel()
            await asyncio.wait({self._watch})
            self._watch = None

    async def _close_session(self, grace: float) -> None:
        await self._stop_watch()
        if self._session:
            await self._session.connection.close()
            await self._session.connection.wire.close(grace)

    async def close(self) -> None:
        """End the connection and what waits on it; the whole takes at most the grace time and a few seconds."""
        self._is_closed = True
        if self._late:
            self._late.cancel()
            await asyncio.wait({self._late})
        await self._close_session(self._settings.grace)
        self._session = None
        self._ear.close()

    # -- tools -----------------------------------------------------------------------------

    def _outdate_tools(self) -> None:
        self.tools_generation += 1

    async def _refresh_tools(self) -> None:
        """Ask for the list again; where that fails, the old one stays, with a warning."""
        generation = self.tools_generation
        try:
            session = await self._get_session()
            if self._listed != self.tools_generation:  # else a new connection brought its list
                generation = self.tools_generation
                deadline = session.connection.now() + self._settings.connect_timeout
                self._take_tools(await self._fetch_tools(session, deadline))
        except McpError as error:
            self._context.warn(f"the list of tools could not be read again, the old one stays: {describe(error)}")
        self._listed = generation

    def _take_tools(self, tools: list[Mapping[str, Any]]) -> None:
        """Keep a new list; what differs from the one that was known is told."""
        if self._listed < 0:
            self._tools = tools
        elif changes := describe_changes(self._tools, tools):
            self._context.warn(f"the server changed its tools: {changes}")
            self._tools = tools

    async def _fetch_tools(self, session: Session, deadline: float) -> list[Mapping[str, Any]]:
        wire = session.connection.wire

        async def fetch(params: dict[str, Any]) -> Mapping[str, Any]:
            return await session.request("tools/list", params, deadline)

        has_headers = self._settings.is_http and session.is_modern
        try:
            return await fetch_tools(
                self.name, fetch, lambda: wire.received, self._context.warn, has_param_headers=has_headers
            )
        except McpError as error:
            is_unknown = error.details.get("rpcCode") == METHOD_NOT_FOUND
            if not is_unknown and ("tools" in session.info.capabilities or error.code != "ERR_MCP_JSON_RPC_ERROR"):
                raise
            self._context.warn("the server offers no tools")
            return []

    def _error(self, message: str) -> McpError:
        return McpError(message, code="ERR_MCP_TRANSPORT", resource=self.name)


@runtime_checkable
class HasSession(Protocol):
    """A wire whose server keeps sessions, and may forget them: HTTP of the handshake era."""

    session_id: str | None
    session_number: int


def describe(error: McpError) -> str:
    return f"{error.message} ({error.code})"


@asynccontextmanager
async def open_client(settings: Settings, dial: Dial, context: Context) -> AsyncIterator[McpClient]:
    """The client, connected (or waiting for its optional server); leaving ends connection and process."""
    client = McpClient(settings, dial, context)
    try:
        await client.start()
        yield client
    finally:
        with CancelScope(shield=True):
            await client.close()
