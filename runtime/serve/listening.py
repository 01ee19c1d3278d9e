"""The HTTP server: a socket of our own, uvicorn on it, and no signal handlers but those of the command."""

import contextlib
import os
import socket
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

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


class HttpServer(uvicorn.Server):
    """Answers until `should_exit` is set."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make_server(app: ASGIApp, settings: Settings) -> HttpServer:
    return HttpServer(
        uvicorn.Config(
            app,
            http="h11",
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
