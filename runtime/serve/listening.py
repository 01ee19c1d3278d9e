"""The HTTP server: a socket of our own, uvicorn on it, and no signal handlers but those of the command."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from runtime.errors import UsageError
from runtime.serve.settings import Settings

CONNECTIONS_BEYOND_RUNS = 256
CLOSING_SECONDS = 2


def listen(settings: Settings) -> socket.socket:
    """A socket that listens; raises UsageError where the place is taken or is none."""
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        why = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else "it is no place to listen"
        place = f"{settings.host}:{settings.port}"
        raise UsageError(f'cannot listen on "{place}": {why}', hint='"--port 0" takes any free port') from error
    # The event loop turns Nagle's algorithm off for connections that say that they are TCP, and costs 40 ms for others.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())


class Corked:
    """A transport that sends what is written in one step of the event loop, such as head and body, as one."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._pieces:
            asyncio.get_running_loop().call_soon(self.flush)
        self._pieces.append(data)

    def flush(self) -> None:
        pieces, self._pieces = self._pieces, []
        if pieces:
            self._transport.write(b"".join(pieces))

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class CorkedProtocol(H11Protocol):
    """HTTP/1.1 over such a transport."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(Corked(transport))  # type: ignore[arg-type]  # all of a transport that it uses


class HttpServer(uvicorn.Server):
    """Answers until `should_exit` is set."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make_server(app: ASGIApp, settings: Settings) -> HttpServer:
    return HttpServer(
        uvicorn.Config(
            app,
            http=CorkedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=settings.max_runs + settings.max_queue + CONNECTIONS_BEYOND_RUNS,
            timeout_graceful_shutdown=CLOSING_SECONDS,
        )
    )
