"""What a server says without having been asked, and what it asks of us: bounded, logged, answered as was offered."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from runtime.kind import Context
from runtime.mcp.connection import METHOD_NOT_FOUND, Refusal
from runtime.mcp.contracts import Handler
from runtime.mcp.message import encode
from runtime.mcp.quoting import quote_line

LINES_A_SECOND = 50  # of a server's log, progress and stderr; the rest is dropped and counted


class Ear:
    """The listener of all connections of one client."""

    def __init__(self, context: Context, handlers: Mapping[str, Handler], on_tools_changed: Callable[[], None]) -> None:
        self._context = context
        self._handlers = handlers
        self._on_tools_changed = on_tools_changed
        self._noise = 0
        self._second = 0
        self._lines = 0
        self._dropped = 0

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/tools/list_changed":
            self._on_tools_changed()
        elif method == "notifications/message" and self._has_room():
            said = params.get("data")
            text = said if type(said) is str else encode({"": said}).decode()[4:-1]
            self._log(f"server log, {params.get('level')}: {text[:4000]}")

    def requested(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | Awaitable[Mapping[str, Any]]:
        handler = self._handlers.get(method)
        if handler is None:
            raise Refusal(METHOD_NOT_FOUND, f"{quote_line(method, 60)} is not offered by this client")
        return handler(params)

    def puzzled(self, what: str) -> None:
        self._noise += 1
        if self._noise == 1:
            self._context.warn(f"the server sent {what}; it is skipped, as will be others of the kind")
        elif self._has_room():
            self._log(f"skipped: {what}")

    def overheard(self, data: bytes) -> None:
        for line in data[-4096:].decode("utf-8", "replace").splitlines()[-LINES_A_SECOND:]:
            if line.strip() and self._has_room():
                self._log(f"stderr: {line}")

    def progressed(self, params: Mapping[str, Any]) -> None:
        if self._has_room():
            done, total, said = params.get("progress"), params.get("total"), params.get("message")
            of = f" of {total}" if isinstance(total, int | float) else ""
            about = f": {said[:1000]}" if type(said) is str else ""
            self._log(f"progress {done if isinstance(done, int | float) else '?'}{of}{about}")

    def close(self) -> None:
        if self._noise > 1:
            self._log(f"{self._noise} things came from the server that are no messages")

    def _log(self, line: str) -> None:
        self._context.log(quote_line(self._context.mask(line)))

    def _has_room(self) -> bool:
        """Whether this second still takes a line: a server's flood must not become ours."""
        second = int(time.monotonic())
        if second != self._second:
            if self._dropped:
                self._log(f"{self._dropped} more lines were dropped")
            self._second, self._lines, self._dropped = second, 0, 0
        self._lines += 1
        self._dropped += self._lines > LINES_A_SECOND
        return self._lines <= LINES_A_SECOND
