"""The open stream on which a server tells of changes: a subscription (2026-07-28) or a GET (handshake era, HTTP).

Over stdio the handshake era needs none. A stream that ends is opened again after growing pauses, so many times.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable

from runtime.errors import McpError
from runtime.mcp.session import Session

TRIES = 10  # in a row, of streams that ended at once
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds before a stream is opened again
STEADY = 30.0  # seconds after which a stream counts as one that worked


async def watch_changes(session: Session, on_gap: Callable[[], None]) -> None:
    """Keep the stream open as long as the connection lives; `on_gap` tells that something may have been missed."""
    open_stream = choose_stream(session)
    if open_stream is None:
        return
    tries = 0
    while tries < TRIES:
        started = session.connection.now()
        try:
            await open_stream()
        except McpError as error:
            status = error.details.get("status")
            if (
                session.connection.failure
                or "rpcCode" in error.details
                or (type(status) is int and 400 <= status < 500)
            ):
                return
        tries = 1 if session.connection.now() - started > STEADY else tries + 1
        await asyncio.sleep(min(FIRST_PAUSE * 2 ** (tries - 1), LONGEST_PAUSE))
        on_gap()


def choose_stream(session: Session) -> Callable[[], Awaitable[None]] | None:
    tools = session.info.capabilities.get("tools")
    has_changes = type(tools) is dict and tools.get("listChanged") is True
    if session.is_modern:
        return (lambda: subscribe(session)) if has_changes else None
    if session.is_http and (has_changes or session.capabilities or "logging" in session.info.capabilities):
        return session.connection.wire.listen
    return None


async def subscribe(session: Session) -> None:
    """One subscription, until the server ends it; its notifications go to the listener like any other."""
    params = {"notifications": {"toolsListChanged": True}}
    await session.connection.finish(session.start("subscriptions/listen", params, math.inf))
