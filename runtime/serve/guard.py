"""What every request passes: whose it is, for which host it was meant, how large it may be; and a line for each.

A page of another site that a browser shows can send requests to loopback, and by rebinding a name even read the
answers: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning. So the host has to
be a name of this service, and an origin, which browsers send, has to be that very host.
"""

import asyncio
import hmac
import ipaddress
import re
import secrets
import time
from collections.abc import Callable, MutableMapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runtime.errors import Error
from runtime.serve.metrics import Metrics
from runtime.serve.responses import BadRequest, answer_error, answer_json, error_body
from runtime.serve.settings import Settings, is_loopback

OPEN_PATHS = {"/healthz", "/readyz", "/"}
"""What needs no token: whether the service lives, and the page, which holds nothing by itself."""
LOG_SECONDS = 0.05
"""For which the line of a request may wait for others."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """Stands before the application; `tell` gets a line for each request."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics, tell: Callable[..., None]) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._tell = tell
        self._lines: list[str] = []
        self._token = settings.token.encode()
        self._names = {"localhost", settings.host.lower(), *(host.lower() for host in settings.allowed_hosts)}
        self._takes_addresses = not is_loopback(settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, send)
        try:
            refusal = self._refuse(scope, exchange.headers)
            if refusal is not None:
                await refusal(scope, receive, exchange.send)
                return
            try:
                await self._app(scope, _Counted(receive, self._settings.max_body), exchange.send)
            except Error as error:
                if exchange.status:
                    raise
                await answer_error(error)(scope, receive, exchange.send)
        finally:
            self._metrics.answered(scope["method"], exchange.status)
            self._log(exchange.line())

    def _log(self, line: str) -> None:
        """Have a line told soon, with those that come until then: a write for each would slow the requests."""
        if not self._lines:
            asyncio.get_running_loop().call_later(LOG_SECONDS, self.flush)
        self._lines.append(line)

    def flush(self) -> None:
        """Tell the lines that wait."""
        lines, self._lines = self._lines, []
        self._tell(*lines)

    def _refuse(self, scope: Scope, headers: MutableMapping[bytes, bytes]) -> ASGIApp | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_ours(host):
            error = BadRequest("the host of the request is no name of this service", status=421)
            error.hint = '"--allow-host NAME" makes it one'
            return answer_error(error)
        origin = headers.get(b"origin")
        if origin is not None and not _is_same(origin.decode("latin-1"), host):
            return answer_error(BadRequest("requests from pages of other origins are refused", status=403))
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._settings.max_body:
            return answer_error(_too_large(self._settings.max_body))
        if self._token and scope["path"] not in OPEN_PATHS and not self._has_token(headers):
            wrong = BadRequest("the request needs the token of this service", hint='send "authorization: Bearer TOKEN"')
            return answer_json(error_body(wrong), 401, {"www-authenticate": 'Bearer realm="runtime"'})
        return None

    def _is_ours(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found[1].strip("[]").lower()
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._takes_addresses or address.is_loopback

    def _has_token(self, headers: MutableMapping[bytes, bytes]) -> bool:
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token)


class _Exchange:
    """One request and its answer, as they are logged; the id of the request goes with the answer."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.status = 0
        self._scope = scope
        self._send = send
        self._started = time.perf_counter()
        given = self.headers.get(b"x-request-id", b"").decode("latin-1")
        self._id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name for name, _ in message["headers"]}
            safe = [pair for pair in _SAFE if pair[0] not in given]
            headers = [*message["headers"], *safe, (b"x-request-id", self._id.encode())]
            message = {**message, "headers": headers}
        await self._send(message)

    def line(self) -> str:
        seconds = time.perf_counter() - self._started
        return f"{self._scope['method']} {self._scope['path']} {self.status or 'cut off'} {seconds:.3f} s {self._id}"


class _Counted:
    """The body of a request, counted as it comes."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._size = 0

    async def __call__(self) -> Any:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > self._most:
            raise _too_large(self._most)
        return message


def _is_same(origin: str, host: str) -> bool:
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


def _too_large(most: int) -> BadRequest:
    return BadRequest(f"the body has more than {most} bytes", status=413)
