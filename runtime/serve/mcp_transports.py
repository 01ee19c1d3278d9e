"""How MCP clients reach the service: over Streamable HTTP at `/mcp`, or over the command's own pipes."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import ASGIApp, Receive, Scope, Send

from runtime.reconcile import Keeper
from runtime.serve.mcp_tools import Tools, make_mcp_server
from runtime.serve.service import Reload, Service, open_service
from runtime.serve.settings import Settings

SESSIONS = 1000
IDLE_SECONDS = 1800.0


class InputLines:
    """The lines of standard input. Waiting for one can be cancelled, which a thread that reads cannot."""

    def __init__(self, longest: int) -> None:
        self._longest = longest

    async def __aiter__(self) -> AsyncIterator[str]:
        """Each line until the input ends; one that is too long ends it."""
        descriptor, pieces, size = sys.stdin.fileno(), [b""], 0
        while size <= self._longest:
            with suppress(PermissionError):  # a file, which is always ready
                await anyio.wait_readable(descriptor)
            chunk = os.read(descriptor, 1 << 16)
            if not chunk:
                return
            first, *more = chunk.split(b"\n")
            pieces.append(first)
            size += len(first)
            for piece in more:
                yield b"".join(pieces).decode("utf-8", "replace")
                pieces, size = [piece], len(piece)


@asynccontextmanager
async def open_mcp_endpoint(server: Server[Any], settings: Settings) -> AsyncIterator[ASGIApp]:
    """The application behind `/mcp`; hosts, origins and the token are the guard's affair."""
    manager = StreamableHTTPSessionManager(
        server,
        max_request_body_size=settings.max_body,
        max_sessions=SESSIONS,
        session_idle_timeout=IDLE_SECONDS,
    )

    class Endpoint:
        """An object, as a function would be taken for one that gives a response."""

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await manager.handle_request(scope, receive, send)

    async with manager.run():
        yield Endpoint()


async def serve_stdio(
    keeper: Keeper,
    reload: Reload,
    settings: Settings,
    choose: Callable[[Service], Tools],
    tell: Callable[[str], None],
    ended: Callable[[], Awaitable[None]],
    applied: Callable[[Service], Coroutine[Any, Any, None]],
) -> None:
    """Speak MCP over standard input and output until the input ends, or `ended` returns."""
    async with open_service(keeper, reload, settings) as service:
        server = make_mcp_server(service, choose(service))
        lines: Any = InputLines(settings.max_body)
        with anyio.CancelScope() as scope:  # around the streams: leaving them waits for the next line of the input
            async with stdio_server(stdin=lines) as (incoming, outgoing), anyio.create_task_group() as group:

                async def talk() -> None:
                    await server.run(incoming, outgoing, server.create_initialization_options())
                    scope.cancel()

                group.start_soon(talk)
                group.start_soon(applied, service)
                tell("speaking MCP on standard input and output")
                await ended()
                await service.drain()
                scope.cancel()
