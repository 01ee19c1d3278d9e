"""JSON-RPC with one server, whatever the transport: who waits for which answer, and what to do with what comes unasked.

Everything here is plain dicts and futures: an answer wakes its caller directly. A `Wire` (stdio.py, http.py) carries
the messages; a `Listener` (session.py) says what a server's requests and notifications mean.
"""

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from runtime.errors import McpError
from runtime.mcp.message import read_id
from runtime.mcp.quoting import LINE_LIMIT, mask_value, quote_line

METHOD_NOT_FOUND, INTERNAL_ERROR = -32601, -32603
OPEN_REQUESTS_LIMIT = 16  # requests of the server that may wait for us at once; the rest is refused
NEVER_CANCELLED = ("initialize", "server/discover")

Progress = Callable[[Mapping[str, Any]], None]


class Refusal(Exception):
    """Our answer to a server's request that we do not carry out."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Call:
    """One request of ours that waits for its answer."""

    __slots__ = ("deadline", "future", "headers", "id", "last", "method", "on_progress", "params", "patience", "timer")

    def __init__(
        self, id: int, method: str, params: dict[str, Any], future: "asyncio.Future[Any]", deadline: float
    ) -> None:
        self.id = id
        self.method = method
        self.params = params
        self.future = future
        self.deadline = deadline
        self.patience = 0.0  # seconds that each progress report adds, up to `last`
        self.last = deadline
        self.on_progress: Progress | None = None
        self.headers: Mapping[str, str] = {}
        self.timer: asyncio.TimerHandle | None = None

    def fail(self, error: McpError) -> None:
        if not self.future.done():
            self.future.set_exception(copy_error(error))


def copy_error(error: McpError) -> McpError:
    """An exception of its own for each caller: a raised one collects the places it went through."""
    return McpError(error.message, code=error.code, resource=error.resource, hint=error.hint, details=error.details)


class Wire(Protocol):
    """What carries messages to a server. None of these raises: trouble fails the call or the connection."""

    protocol_version: str
    """The revision that was agreed on; empty before."""

    @property
    def received(self) -> int:
        """Bytes that came from the server so far."""

    def send(self, call: Call) -> None:
        """Send a request; `Connection.receive` gets what comes back."""

    def post(self, message: Mapping[str, Any]) -> None:
        """Send a notification or an answer."""

    def drop(self, call: Call, reason: str) -> None:
        """Nobody waits for this call any more: tell the server."""

    async def flush(self, seconds: float) -> None:
        """Wait until what was posted has reached the server, or the time ran out."""

    async def listen(self) -> None:
        """Read what the server sends outside of answers, until that ends; raises `McpError`."""

    async def close(self, grace: float) -> None:
        """Let go of the server, within `grace` seconds and a little."""


class Listener(Protocol):
    """What a server may say or ask without having been asked."""

    def notified(self, method: str, params: Mapping[str, Any]) -> None: ...

    def requested(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | Awaitable[Mapping[str, Any]]:
        """The result, or what will give it; raises `Refusal`."""

    def puzzled(self, what: str) -> None:
        """Something came that is no message."""

    def overheard(self, data: bytes) -> None:
        """The server wrote this to stderr."""


class Connection:
    """The pending table of one connection, and its end."""

    def __init__(self, name: str, listener: Listener, mask: Callable[[str], str]) -> None:
        self.name = name
        self.mask = mask
        self.listener = listener
        self.wire: Wire
        self.failure: McpError | None = None
        self.failed = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._ids = itertools.count(1)
        self._pending: dict[int, Call] = {}
        self._answering: set[asyncio.Task[None]] = set()

    def now(self) -> float:
        return self._loop.time()

    # -- our requests ----------------------------------------------------------------------

    def start(
        self,
        method: str,
        params: dict[str, Any],
        deadline: float,
        *,
        headers: Mapping[str, str] | None = None,
        patience: float = 0.0,
        last: float = 0.0,
        on_progress: Progress | None = None,
    ) -> Call:
        """Send a request; `finish` must follow. `deadline` and `last` are moments of the loop's clock."""
        if asyncio.get_running_loop() is not self._loop:
            raise McpError(
                "the connection belongs to another event loop",
                code="ERR_MCP_TRANSPORT",
                resource=self.name,
                hint="use a client in the event loop in which it was opened",
            )
        call = Call(next(self._ids), method, params, self._loop.create_future(), deadline)
        if self.failure:
            call.fail(self.failure)
            return call
        if headers:
            call.headers = headers
        if on_progress or patience:
            call.patience, call.last, call.on_progress = patience, max(last, deadline), on_progress
            params.setdefault("_meta", {})["progressToken"] = call.id
        self._pending[call.id] = call
        if deadline != math.inf:
            call.timer = self._loop.call_at(deadline, self._expire, call)
        self.wire.send(call)
        return call

    async def finish(self, call: Call) -> Any:
        """The call's result as the server sent it; raises `McpError`."""
        try:
            return await call.future
        finally:
            self.release(call, "the caller gave up")

    def release(self, call: Call, reason: str) -> None:
        """Forget a call; one that still waits is cancelled at the server."""
        if call.timer:
            call.timer.cancel()
        if call.future.done() and not call.future.cancelled():
            call.future.exception()  # marked as seen: asyncio complains of one that nobody looked at
        if self._pending.pop(call.id, None) is None:
            return
        if not call.future.done():
            call.future.cancel()
        self.wire.drop(call, reason)

    async def request(self, method: str, params: dict[str, Any], deadline: float) -> Any:
        return await self.finish(self.start(method, params, deadline))

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        if self.failure is None:
            message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
            self.wire.post({**message, "params": params} if params else message)

    def cancel(self, call: Call, reason: str) -> None:
        """The notice that handshake-era servers (and every stdio server) get for a call nobody waits for."""
        if call.method not in NEVER_CANCELLED:
            self.notify("notifications/cancelled", {"requestId": call.id, "reason": reason})

    def _expire(self, call: Call) -> None:
        if call.future.done():
            return
        if call.deadline > self._loop.time():  # progress was reported meanwhile
            call.timer = self._loop.call_at(call.deadline, self._expire, call)
            return
        call.fail(
            McpError(
                f'the server did not answer "{call.method}" in time',
                code="ERR_MCP_TIMEOUT",
                resource=self.name,
                hint="raise `connectTimeoutMs`" if call.method in NEVER_CANCELLED else "raise `callTimeoutMs`",
            )
        )

    # -- what the server sends -------------------------------------------------------------

    def receive(self, message: Any) -> None:
        """Take one decoded JSON text: an answer, a request, a notification, or a batch of them."""
        if type(message) is dict:
            if "method" in message:
                self._take_unasked(message)
            elif "result" in message or "error" in message:
                self._take_answer(message)
            else:
                self.listener.puzzled("a JSON object that is no JSON-RPC message")
        elif type(message) is list and message:
            for part in message:
                if type(part) is dict:
                    self.receive(part)
                else:
                    self.listener.puzzled("a JSON value that is no JSON-RPC message")
        else:
            self.listener.puzzled("a JSON value that is no JSON-RPC message")

    def _take_answer(self, message: Mapping[str, Any]) -> None:
        id = read_id(message.get("id"))
        call = self._pending.pop(id, None) if id is not None else None
        if call is None:
            return  # late, doubled, or nobody's: ids are never used twice
        if "result" in message and message.get("error") is None:
            if not call.future.done():
                call.future.set_result(message["result"])
        else:
            call.fail(self.describe_error(message.get("error")))

    def quote(self, text: str, limit: int = LINE_LIMIT) -> str:
        """Text of the server on one line, without secrets of ours that it may have sent back."""
        return quote_line(self.mask(text[: limit * 4]), limit)

    def over_limit(self, limit: int) -> McpError:
        """The error for a message of the server that is larger than `maxResultBytes`."""
        return McpError(
            f"the server sent a message of more than {limit} bytes",
            code="ERR_MCP_LIMIT",
            resource=self.name,
            hint="raise `maxResultBytes`, or ask the tool for less",
        )

    def describe_error(self, error: Any) -> McpError:
        """The exception for the `error` member of an answer."""
        fields = error if type(error) is dict else {}
        code, text = fields.get("code"), error if type(error) is str else fields.get("message")
        said = self.quote(text, 2000) if type(text) is str and text else "the server gave no reason"
        details: dict[str, Any] = {"rpcCode": code if type(code) is int else None}
        if fields.get("data") is not None:
            details["rpcData"] = mask_value(fields["data"], self.mask)
        shown = f"{said} (JSON-RPC error {code})" if type(code) is int else f"{said} (a JSON-RPC error without code)"
        return McpError(shown, code="ERR_MCP_JSON_RPC_ERROR", resource=self.name, details=details)

    def _take_unasked(self, message: Mapping[str, Any]) -> None:
        method, params = message["method"], message.get("params")
        if type(method) is not str:
            self.listener.puzzled("a message whose method is no text")
            return
        if type(params) is not dict:
            params = {}
        if "id" in message:
            self._answer(message["id"], method, params)
        elif method == "notifications/progress":
            self._take_progress(params)
        else:
            self.listener.notified(method, params)

    def _take_progress(self, params: Mapping[str, Any]) -> None:
        token = read_id(params.get("progressToken"))
        call = self._pending.get(token) if token is not None else None
        if call is None:
            return
        if call.patience:
            call.deadline = max(call.deadline, min(self._loop.time() + call.patience, call.last))
        if call.on_progress:
            call.on_progress(params)

    def _answer(self, id: Any, method: str, params: Mapping[str, Any]) -> None:
        try:
            if len(self._answering) >= OPEN_REQUESTS_LIMIT and method != "ping":
                raise Refusal(INTERNAL_ERROR, "too many requests at once")
            result = {} if method == "ping" else self.listener.requested(method, params)
        except Refusal as refusal:
            self._post_refusal(id, refusal)
            return
        if isinstance(result, Mapping):
            self.wire.post({"jsonrpc": "2.0", "id": id, "result": result})
            return
        task = self._loop.create_task(self._answer_later(id, result))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer_later(self, id: Any, result: Awaitable[Mapping[str, Any]]) -> None:
        try:
            self.wire.post({"jsonrpc": "2.0", "id": id, "result": await result})
        except Refusal as refusal:
            self._post_refusal(id, refusal)

    def _post_refusal(self, id: Any, refusal: Refusal) -> None:
        self.wire.post({"jsonrpc": "2.0", "id": id, "error": {"code": refusal.code, "message": refusal.message}})

    # -- trouble ---------------------------------------------------------------------------

    def fail_call(self, id: int | None, error: McpError) -> bool:
        """Fail a call whose answer cannot come any more; False when no such call waits."""
        call = self._pending.pop(id, None) if id is not None else None
        if call is None:
            return False
        call.fail(error)
        return True

    def fail_pending(self, error: McpError) -> None:
        """Fail every call that waits: one of them lost its answer and which cannot be told."""
        for call in self._pending.values():
            call.fail(error)
        self._pending.clear()

    def fail(self, error: McpError) -> None:
        """The connection is over: nothing more comes, every call, also a later one, gets the cause."""
        if self.failure is None:
            self.failure = error
            self.failed.set_result(None)
            self.fail_pending(error)

    async def close(self) -> None:
        """Fail what waits and stop what we were about to answer; the wire is closed by its owner."""
        self.fail(McpError("the connection is closed", code="ERR_MCP_TRANSPORT", resource=self.name))
        for task in self._answering:
            task.cancel()
        if self._answering:
            await asyncio.wait(self._answering)
