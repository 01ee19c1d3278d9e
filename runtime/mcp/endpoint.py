"""One HTTP endpoint of a server: requests within its origin, bodies in bounded pieces, status codes told truly."""

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from runtime.errors import McpError
from runtime.mcp.connection import Connection
from runtime.mcp.event_stream import Event, EventReader, TooLarge
from runtime.mcp.message import Malformed, decode, find_answered
from runtime.mcp.quoting import quote_line

if TYPE_CHECKING:  # heavy: a run without HTTP never pays for it
    import httpx2

REDIRECTS_LIMIT = 5
ERROR_BODY_LIMIT = 64 * 1024
EVENT_ID_LIMIT = 1024
DRAIN_TIME = 0.25  # seconds for the end of a stream whose answer has come, so that its connection serves again
SESSION_WORDS = ("session", "not initialized")
SESSION_STATUSES = (404, 410)


class Endpoint:
    """The client, what it sends with each request, and what comes back. `http` is closed by `close`."""

    def __init__(self, connection: Connection, url: str, http: "httpx2.AsyncClient", limit: int) -> None:
        self.connection = connection
        self.url = url
        self.http = http
        self.limit = limit
        self.received = 0

    async def open(
        self,
        verb: str,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout: float | None = None,
        url: "httpx2.URL | str | None" = None,
    ) -> "httpx2.Response":
        """The response's head; redirects are followed within the origin when they keep verb and body (307, 308)."""
        place: Any = url or self.url
        for _ in range(REDIRECTS_LIMIT + 1):
            request = self.http.build_request(verb, place, content=body, headers=headers, timeout=timeout)
            response = await self.http.send(request, stream=True, follow_redirects=False)
            location = response.headers.get("location")
            if not (300 <= response.status_code < 400 and location):
                return response
            await response.aclose()
            target = response.url.join(location)
            keeps = response.status_code in (307, 308) or (verb == "GET" and response.status_code in (301, 302))
            if not keeps or not is_same_origin(target, response.url) or target.userinfo:
                shown = self.connection.quote(str(target.copy_with(userinfo=b"", query=None, fragment=None)), 200)
                raise self.error(
                    f'the server redirects to "{shown}" (HTTP {response.status_code}), which is not followed',
                    details={"status": response.status_code},
                    hint="if that is the server you mean, write that address into `url`",
                )
            place = target
            if response.status_code == 308 and url is None:
                self.url = str(target)  # a permanent redirect, within the origin
        raise self.error("the server redirects without end")

    async def read_body(self, response: "httpx2.Response") -> bytes:
        """The whole body; raises `McpError` ERR_MCP_LIMIT when it is too large once unpacked."""
        declared = response.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > self.limit:
            raise self.connection.over_limit(self.limit)
        chunks: list[bytes] = []
        size = 0
        async for chunk in self._unpack(response):
            chunks.append(chunk)
            size += len(chunk)
            if size > self.limit:
                raise self.connection.over_limit(self.limit)
        return b"".join(chunks)

    async def read_events(
        self,
        response: "httpx2.Response",
        take: Callable[[Event], None],
        is_done: Callable[[], bool],
        position: Event | None = None,
    ) -> Event:
        """Give each event to `take` until the stream ends or `is_done`; returns the place to resume at.

        Raises `McpError` ERR_MCP_LIMIT for an event that is too large, `httpx2.TransportError` for a broken stream that
        cannot be resumed.
        """
        import httpx2

        reader = EventReader(self.limit)
        last = position or Event("", b"", "", None)
        chunks = self._unpack(response)
        try:
            async for chunk in chunks:
                for event in reader.feed(chunk):
                    last = Event("", b"", event.id or last.id, last.retry if event.retry is None else event.retry)
                    take(event)
                if is_done():
                    async with asyncio.timeout(DRAIN_TIME):
                        async for _ in chunks:
                            pass
        except TooLarge:
            raise self.connection.over_limit(self.limit) from None
        except TimeoutError:
            return last  # the server keeps the stream open after its answer
        except httpx2.TransportError:
            if not (is_done() or can_resume(last)):
                raise
        return last

    def take_message(self, event: Event) -> None:
        """Hand the message in an event to the connection."""
        if event.name != "message" or not event.data.strip():
            return
        try:
            self.connection.receive(decode(event.data))
        except Malformed as error:
            broken = self.error(f"the answer is no valid JSON: {quote_line(str(error))}", "ERR_MCP_PROTOCOL")
            if not self.connection.fail_call(find_answered(event.data[:256], event.data[-256:]), broken):
                shown = self.connection.quote(event.data[:400].decode("utf-8", "replace"), 100)
                self.connection.listener.puzzled(f'an event that is no JSON: "{shown}"')

    async def refuse(self, response: "httpx2.Response", session: int = 0) -> None:
        """Raise what a status of 300 or more means for a request of the session with this number (0: of none)."""
        body = b""
        async for chunk in self._unpack(response):
            body += chunk
            if len(body) > ERROR_BODY_LIMIT:
                break
        status = response.status_code
        shown = self.connection.quote(body[:2000].decode("utf-8", "replace"))
        what = f"HTTP {status} {quote_line(response.reason_phrase, 40)}".strip() + (f": {shown}" if shown else "")
        details: dict[str, Any] = {"status": status}
        if (pause := read_retry_after(response.headers.get("retry-after"))) is not None:
            details["retryAfterMs"] = pause
        if status in (401, 403):
            hint = "give credentials: `headers: {Authorization: ...}` or `auth`"
            raise self.error(what, "ERR_MCP_AUTH", details=details, hint=hint)
        error = read_rpc_error(body)
        text = str(error.get("message", "")).lower() if error else ""
        is_lost = status in SESSION_STATUSES or (status == 400 and any(word in text for word in SESSION_WORDS))
        if session and is_lost:
            details["session"] = session
            raise self.error(
                f"the server no longer knows the session ({what})", "ERR_MCP_SESSION_INVALID", details=details
            )
        if error:
            problem = self.connection.describe_error(error)
            problem.details.update(details)
            raise problem
        raise self.error(what, details=details)

    def describe_trouble(self, error: Exception) -> McpError:
        """A failure below HTTP: refused, reset, cut, no such host, a certificate."""
        import httpx2

        url = httpx2.URL(self.url)
        place = f"{url.host}:{url.port or (443 if url.scheme == 'https' else 80)}"
        said = self.connection.quote(str(find_cause(error))) or type(error).__name__
        if isinstance(error, httpx2.ConnectError):
            return self.error(f'cannot connect to "{place}": {said}', hint="check `url`, and that the server runs")
        return self.error(f'the connection to "{place}" broke: {said}')

    def error(
        self, message: str, code: str = "ERR_MCP_TRANSPORT", *, hint: str | None = None, details: Any = None
    ) -> McpError:
        return McpError(message, code=code, resource=self.connection.name, hint=hint, details=details)

    async def close(self) -> None:
        await self.http.aclose()

    async def _unpack(self, response: "httpx2.Response") -> AsyncIterator[bytes]:
        """The body's bytes, unpacked in pieces of at most 1 MiB, so that a small body cannot grow at once."""
        packing = response.headers.get("content-encoding", "").strip().lower()
        unpacker = zlib.decompressobj(47) if packing in ("gzip", "x-gzip", "deflate") else None  # 47: either header
        async for raw in response.aiter_raw():
            for piece in self._inflate(unpacker, raw) if unpacker else (raw,):
                self.received += len(piece)
                yield piece

    def _inflate(self, unpacker: Any, data: bytes) -> Iterator[bytes]:
        try:
            while data:
                yield unpacker.decompress(data, 1 << 20)
                data = unpacker.unconsumed_tail
        except zlib.error as error:
            raise self.error(f"the response cannot be unpacked: {error}") from None


def make_http_client(
    url: str,
    headers: Mapping[str, str],
    *,
    trusts_environment: bool = False,
    tls: ssl.SSLContext | None = None,
    auth: "httpx2.Auth | None" = None,
) -> "httpx2.AsyncClient":
    """A client for one endpoint, without limits of its own: each wait is limited by its call.

    Raises `ValueError` or `httpx2.InvalidURL` for a URL or a header that cannot be used.
    """
    import httpx2

    verify: ssl.SSLContext | bool = False  # no certificates to load where no TLS is spoken
    if url.lower().startswith("https:") or auth is not None:
        verify = tls or httpx2.create_ssl_context()
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
    transport = None
    if auth is not None:
        from runtime.mcp.guard import GuardedTransport

        transport = GuardedTransport(url, verify=verify, limits=limits, trust_env=trusts_environment)
    http = httpx2.AsyncClient(
        headers={"accept-encoding": "gzip, deflate", **headers},
        verify=verify,
        trust_env=trusts_environment,
        timeout=None,
        limits=limits,
        transport=transport,
        auth=auth,
    )
    http.build_request("POST", url)
    return http


def is_same_origin(one: "httpx2.URL", other: "httpx2.URL") -> bool:
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)


def can_resume(position: Event) -> bool:
    """Whether an event's id can be sent back in a header."""
    return 0 < len(position.id) <= EVENT_ID_LIMIT and is_visible(position.id)


def is_visible(text: str) -> bool:
    """Only visible ASCII, as a header takes it."""
    return all("!" <= character <= "~" for character in text)


def find_cause(error: BaseException) -> BaseException:
    """What the operating system said, beneath the HTTP client's own words."""
    found, cause = error, error.__cause__ or error.__context__
    while cause is not None:
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, OSError) and str(cause):
            found = cause
        cause = cause.__cause__ or cause.__context__
    return found


def read_retry_after(value: str | None) -> int | None:
    """`Retry-After` in ms: seconds, or a date (RFC 9110, section 10.2.3); None where it makes no sense."""
    if value is None:
        return None
    if value.strip().isdigit():
        return min(int(value.strip()[:9]), 86400) * 1000
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return max(0, int((moment - datetime.now(UTC)).total_seconds() * 1000))


def read_rpc_error(body: bytes) -> dict[str, Any] | None:
    """The `error` of a JSON-RPC answer that came with an error status."""
    try:
        message = decode(body)
    except Malformed:
        return None
    error = message.get("error") if type(message) is dict else None
    return error if type(error) is dict and type(error.get("code")) is int else None
