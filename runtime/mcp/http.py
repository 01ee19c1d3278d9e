"""Streamable HTTP: each request of ours is a POST; its answer is the JSON body or comes on an event stream.

Specification: MCP 2025-11-25 and 2026-07-28, "Transports". Status codes, `Retry-After` and the start of an error's body
reach the caller; nothing is repeated here but a redirect within the origin and the resumption of a broken stream.
"""

import asyncio
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from runtime.errors import McpError
from runtime.mcp.connection import Call, Connection
from runtime.mcp.event_stream import Event, EventReader, TooLarge
from runtime.mcp.message import Malformed, decode, encode
from runtime.mcp.quoting import quote_line

if TYPE_CHECKING:  # heavy: a run without HTTP never pays for it
    import httpx2

REDIRECTS_LIMIT = 5
RESUMPTIONS_LIMIT = 5  # GETs that resume one answer's stream
RESUMPTION_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds before a stream is resumed: by default, at most
ERROR_BODY_LIMIT = 64 * 1024
SESSION_ID_LIMIT = 4096
EVENT_ID_LIMIT = 1024
POSTS_LIMIT = 256  # notifications and answers that wait to be sent; above it we read nothing more
GOODBYE_TIMEOUT = 2.0  # seconds for the end of a session
POST_TIMEOUT = 30.0  # seconds for a notification or an answer
SESSION_WORDS = ("session", "not initialized")


class HttpWire:
    """One endpoint as a wire. `http` is a client of ours alone; it is closed with the wire."""

    def __init__(self, connection: Connection, url: str, http: "httpx2.AsyncClient", limit: int) -> None:
        self.connection = connection
        self.url = url
        self.http = http
        self.limit = limit
        self.protocol_version = ""
        self.received: int = 0
        self.session_id: str | None = None
        self.session_number = 0  # tells one session from the next without showing its id
        self._heard = ""  # the id of the last event of the stream that `listen` read
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._posts: deque[Mapping[str, Any]] = deque()
        self._posted = asyncio.Event()
        self._posted.set()
        self._poster: asyncio.Task[None] | None = None

    @property
    def is_modern(self) -> bool:
        return self.protocol_version >= "2026"

    # -- out -------------------------------------------------------------------------------

    def send(self, call: Call) -> None:
        task = asyncio.get_running_loop().create_task(self._exchange(call))
        self._tasks[call.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(call.id, None))

    def post(self, message: Mapping[str, Any]) -> None:
        self._posts.append(message)
        self._posted.clear()
        if self._poster is None or self._poster.done():
            self._poster = asyncio.get_running_loop().create_task(self._send_posts())

    def drop(self, call: Call, reason: str) -> None:
        """Close the request's stream; before 2026-07-28 that says nothing, so a notice follows."""
        if task := self._tasks.get(call.id):
            task.cancel()
            if not self.is_modern:
                self.connection.cancel(call, reason)

    async def flush(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._posted.wait(), max(0.0, seconds))
        except TimeoutError:
            return

    async def _send_posts(self) -> None:
        import httpx2

        while self._posts:
            try:
                message = self._posts.popleft()
                response = await self._open("POST", encode(message), self._make_headers(), POST_TIMEOUT)
                await response.aclose()
                if response.status_code >= 400:
                    self.connection.listener.puzzled(f"HTTP {response.status_code} for a message that needs no answer")
            except (McpError, httpx2.HTTPError) as error:
                self.connection.listener.puzzled(f"a message could not be sent: {quote_line(str(error))}")
        self._posted.set()

    # -- one request and its answer --------------------------------------------------------

    async def _exchange(self, call: Call) -> None:
        import httpx2

        try:
            await self._run(call)
        except McpError as error:
            self.connection.fail_call(call.id, error)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            self.connection.fail_call(call.id, self._describe_trouble(error))
        except Exception as error:  # the border: what a server sends must not end more than its own call
            what = f"the HTTP client cannot make sense of the server: {type(error).__name__}"
            self.connection.fail_call(call.id, self._error(what, "ERR_MCP_PROTOCOL"))
        else:
            self.connection.fail_call(call.id, self._error("the response ended without an answer", "ERR_MCP_PROTOCOL"))

    async def _run(self, call: Call) -> None:
        number = 0 if call.method == "initialize" or not self.session_id else self.session_number
        body = encode({"jsonrpc": "2.0", "id": call.id, "method": call.method, "params": call.params})
        headers = {**self._make_headers(), **call.headers}
        response = await self._open("POST", body, headers)
        try:
            if response.status_code >= 300:
                await self._refuse(response, number)
            if call.method == "initialize":
                self.session_id = self._read_session_id(response)
                self.session_number += 1
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if response.status_code in (202, 204):
                raise self._error(f"HTTP {response.status_code} for a request: no answer will come", "ERR_MCP_PROTOCOL")
            if kind == "text/event-stream":
                position = await self._read_events(call, response)
            elif kind == "application/json" or kind.endswith("+json"):
                await self._read_json(call, response)
                return
            else:
                raise self._error(
                    f'the response has the content type "{quote_line(kind, 80)}" instead of JSON or an event stream',
                    "ERR_MCP_PROTOCOL",
                    hint="check `url`: it may lead to a sign-in page or a web site",
                )
        finally:
            await response.aclose()
        if not call.future.done():
            await self._resume(call, position)

    def _make_headers(self) -> dict[str, str]:
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if self.session_id:
            headers["mcp-session-id"] = self.session_id
        if self.protocol_version:
            headers["mcp-protocol-version"] = self.protocol_version
        return headers

    async def _open(
        self, verb: str, body: bytes | None, headers: Mapping[str, str], timeout: float | None = None
    ) -> "httpx2.Response":
        """The response's head; redirects are followed within the origin when they keep verb and body (307, 308)."""
        url: Any = self.url
        for _ in range(REDIRECTS_LIMIT + 1):
            request = self.http.build_request(verb, url, content=body, headers=headers, timeout=timeout)
            response = await self.http.send(request, stream=True, follow_redirects=False)
            location = response.headers.get("location")
            if not (300 <= response.status_code < 400 and location):
                return response
            await response.aclose()
            target = response.url.join(location)
            keeps = response.status_code in (307, 308) or (verb == "GET" and response.status_code in (301, 302))
            here = (response.url.scheme, response.url.host, response.url.port)
            if not keeps or (target.scheme, target.host, target.port) != here or target.userinfo:
                place = self.connection.quote(str(target.copy_with(userinfo=b"", query=None, fragment=None)), 200)
                raise self._error(
                    f'the server redirects to "{place}" (HTTP {response.status_code}), which is not followed',
                    details={"status": response.status_code},
                    hint="if that is the server you mean, write that address into `url`",
                )
            url = target
        raise self._error("the server redirects without end")

    async def _read_json(self, call: Call, response: "httpx2.Response") -> None:
        declared = response.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > self.limit:
            raise self.connection.over_limit(self.limit)
        chunks: list[bytes] = []
        size = 0
        async for chunk in unpack(response):
            chunks.append(chunk)
            size += len(chunk)
            if size > self.limit:
                raise self.connection.over_limit(self.limit)
        body = b"".join(chunks)
        self.received += size
        try:
            message = decode(body)
        except Malformed as error:
            what = (
                f"the response is no valid JSON: {quote_line(str(error))}" if body.strip() else "the response is empty"
            )
            raise self._error(what, "ERR_MCP_PROTOCOL") from None
        self.connection.receive(message)
        if not call.future.done():
            raise self._error("the response does not hold the answer to its request", "ERR_MCP_PROTOCOL")

    async def _read_events(
        self, call: Call | None, response: "httpx2.Response", position: Event | None = None
    ) -> Event:
        """Take the messages of a stream until it ends or the call has its answer; the last event's id and pause."""
        import httpx2

        reader = EventReader(self.limit)
        last = position or Event("", b"", "", None)
        try:
            async for chunk in unpack(response):
                self.received += len(chunk)
                for event in reader.feed(chunk):
                    last = Event("", b"", event.id or last.id, last.retry if event.retry is None else event.retry)
                    self._take_event(event)
                if call and call.future.done():
                    break
                if len(self._posts) > POSTS_LIMIT:
                    await self.flush(POST_TIMEOUT)
        except TooLarge:
            raise self.connection.over_limit(self.limit) from None
        except httpx2.TransportError:
            if not can_resume(last):
                raise
        return last

    def _take_event(self, event: Event) -> None:
        if event.name != "message" or not event.data.strip():
            return
        try:
            self.connection.receive(decode(event.data))
        except Malformed:
            shown = self.connection.quote(event.data[:400].decode("utf-8", "replace"), 100)
            self.connection.listener.puzzled(f'an event that is no JSON: "{shown}"')

    async def _resume(self, call: Call, position: Event) -> None:
        """Ask for the rest of a stream that ended before the answer came, if the server gave a place to resume at."""
        for _ in range(RESUMPTIONS_LIMIT):
            if not can_resume(position):
                break
            pause = RESUMPTION_PAUSE if position.retry is None else position.retry / 1000
            await asyncio.sleep(min(pause, LONGEST_PAUSE))
            response = await self._open_stream(position.id)
            try:
                if response.status_code >= 300:
                    await self._refuse(response, self.session_number)
                position = await self._read_events(call, response, position)
            finally:
                await response.aclose()
            if call.future.done():
                return
        raise self._error("the event stream ended before the answer came")

    async def listen(self) -> None:
        """The stream that a GET opens, until it ends."""
        import httpx2

        try:
            response = await self._open_stream(self._heard)
            try:
                if response.status_code >= 300:
                    await self._refuse(response, self.session_number)
                last = await self._read_events(None, response)
                self._heard = last.id if can_resume(last) else ""
            finally:
                await response.aclose()
        except (httpx2.HTTPError, OSError) as error:
            raise self._describe_trouble(error) from None

    async def _open_stream(self, last_event_id: str) -> "httpx2.Response":
        headers = {**self._make_headers(), "accept": "text/event-stream"}
        if last_event_id:
            headers["last-event-id"] = last_event_id
        return await self._open("GET", None, headers)

    # -- refusals --------------------------------------------------------------------------

    async def _refuse(self, response: "httpx2.Response", session: int) -> None:
        """Raise what a status of 300 or more means for a request of this session (0: of none)."""
        body = b""
        async for chunk in unpack(response):
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
            raise self._error(what, "ERR_MCP_AUTH", details=details, hint=hint)
        error = read_rpc_error(body)
        text = str(error.get("message", "")).lower() if error else ""
        is_session = status == 404 or (status == 400 and any(word in text for word in SESSION_WORDS))
        if session and is_session and not self.is_modern:
            details["session"] = session
            raise self._error(
                f"the server no longer knows the session ({what})", "ERR_MCP_SESSION_INVALID", details=details
            )
        if error:
            problem = self.connection.describe_error(error)
            problem.details.update(details)
            raise problem
        raise self._error(what, details=details)

    def _read_session_id(self, response: "httpx2.Response") -> str | None:
        session: str | None = response.headers.get("mcp-session-id")
        if session is not None and not (0 < len(session) <= SESSION_ID_LIMIT and is_visible(session)):
            raise self._error("the session id of the server is not visible ASCII, or too long", "ERR_MCP_PROTOCOL")
        return session

    def _describe_trouble(self, error: Exception) -> McpError:
        """A failure below HTTP: refused, reset, cut, no such host, a certificate."""
        import httpx2

        url = httpx2.URL(self.url)
        place = f"{url.host}:{url.port or (443 if url.scheme == 'https' else 80)}"
        said = quote_line(str(error)) or type(error).__name__
        if isinstance(error, httpx2.ConnectError):
            hint = "check `url`, and that the server runs"
            return self._error(f'cannot connect to "{place}": {said}', hint=hint, details={"isUnsent": True})
        return self._error(f'the connection to "{place}" broke: {said}')

    def _error(
        self, message: str, code: str = "ERR_MCP_TRANSPORT", *, hint: str | None = None, details: Any = None
    ) -> McpError:
        return McpError(message, code=code, resource=self.connection.name, hint=hint, details=details)

    # -- the end ---------------------------------------------------------------------------

    async def close(self, grace: float) -> None:
        """End the session at the server (`DELETE`, handshake era), stop everything, close the client."""
        tasks = [*self._tasks.values(), *([self._poster] if self._poster else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self.session_id and not self.is_modern:
            await self._end_session(min(grace, GOODBYE_TIMEOUT))
        await self.http.aclose()

    async def _end_session(self, grace: float) -> None:
        import httpx2

        try:
            response = await self._open("DELETE", None, self._make_headers(), grace)
            await response.aclose()
        except (McpError, httpx2.HTTPError, OSError):
            return  # the session is over in any case


def open_endpoint(
    connection: Connection, url: str, headers: Mapping[str, str], *, limit: int, trusts_environment: bool
) -> HttpWire:
    """A wire to an endpoint; nothing is sent yet. Raises `McpError` for a URL or header that cannot be used."""
    import httpx2

    is_secure = url.lower().startswith("https:")
    try:
        http = httpx2.AsyncClient(
            headers={"accept-encoding": "gzip, deflate", **headers},
            verify=httpx2.create_ssl_context() if is_secure else False,  # no certificates to load where none is asked
            trust_env=trusts_environment,
            timeout=None,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        )
        http.build_request("POST", url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise McpError(
            f"the endpoint cannot be used: {quote_line(str(error))}",
            code="ERR_MCP_TRANSPORT",
            resource=connection.name,
            hint="correct `url` and `headers`",
        ) from None
    return HttpWire(connection, url, http, limit)


async def unpack(response: "httpx2.Response") -> AsyncIterator[bytes]:
    """The body's bytes, unpacked in pieces of at most 1 MiB, so that a small body cannot grow at once."""
    packing = response.headers.get("content-encoding", "").strip().lower()
    unpacker = zlib.decompressobj(47) if packing in ("gzip", "x-gzip", "deflate") else None  # 47: either header
    async for raw in response.aiter_raw():
        if unpacker is None:
            yield raw
            continue
        for piece in inflate(unpacker, raw):
            yield piece


def inflate(unpacker: Any, data: bytes) -> Iterator[bytes]:
    try:
        while data:
            yield unpacker.decompress(data, 1 << 20)
            data = unpacker.unconsumed_tail
    except zlib.error as error:
        raise McpError(f"the response cannot be unpacked: {error}", code="ERR_MCP_TRANSPORT") from None


def can_resume(position: Event) -> bool:
    """Whether an event's id can be sent back in a header."""
    return 0 < len(position.id) <= EVENT_ID_LIMIT and is_visible(position.id)


def is_visible(text: str) -> bool:
    """Only visible ASCII, as a header takes it."""
    return all("!" <= character <= "~" for character in text)


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
