"""Streamable HTTP: each request of ours is a POST; its answer is the JSON body or comes on an event stream.

Specification: MCP 2025-11-25 and 2026-07-28, "Transports". Nothing is repeated here but the resumption of a broken
stream; what a status code means for the call is decided by its caller (client.py).
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime.errors import McpError
from runtime.mcp.connection import Call, Connection
from runtime.mcp.endpoint import Endpoint, can_resume, is_visible
from runtime.mcp.event_stream import Event
from runtime.mcp.message import Malformed, decode, encode
from runtime.mcp.quoting import quote_line

if TYPE_CHECKING:  # heavy: a run without HTTP never pays for it
    import httpx2

RESUMPTIONS_LIMIT = 5  # GETs that resume one answer's stream
RESUMPTION_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds before a stream is resumed: by default, at most
SESSION_ID_LIMIT = 4096
POSTS_LIMIT = 1000  # notifications and answers that wait to be sent; what is more is dropped
POST_TIMEOUT = 30.0  # seconds for a notification or an answer
GOODBYE_TIMEOUT = 2.0  # seconds for the end of a session


class HttpWire:
    """One endpoint as a wire; with `session_id` it joins a session that is somebody else's."""

    def __init__(self, connection: Connection, endpoint: Endpoint, session_id: str | None = None) -> None:
        self.connection = connection
        self.endpoint = endpoint
        self.protocol_version = ""
        self.session_id = session_id
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

    @property
    def received(self) -> int:
        return self.endpoint.received

    # -- out -------------------------------------------------------------------------------

    def send(self, call: Call) -> None:
        task = asyncio.get_running_loop().create_task(self._exchange(call))
        self._tasks[call.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(call.id, None))

    def post(self, message: Mapping[str, Any]) -> None:
        if len(self._posts) >= POSTS_LIMIT:
            return
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
                response = await self.endpoint.open("POST", encode(message), self._make_headers(), POST_TIMEOUT)
                await response.aclose()
                if response.status_code >= 400:
                    self.connection.listener.puzzled(f"HTTP {response.status_code} for a message that needs no answer")
            except (McpError, httpx2.HTTPError, OSError) as error:
                self.connection.listener.puzzled(f"nothing for a message of ours: {quote_line(str(error))}")
        self._posted.set()

    # -- one request and its answer --------------------------------------------------------

    async def _exchange(self, call: Call) -> None:
        import httpx2

        try:
            await self._run(call)
        except McpError as error:
            problem = error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            problem = self.endpoint.describe_trouble(error)
        except Exception as error:  # the border: what a server sends must not end more than its own call
            what = f"the HTTP client cannot make sense of the server: {type(error).__name__}"
            problem = self.endpoint.error(what, "ERR_MCP_PROTOCOL")
        else:
            problem = self.endpoint.error("the response ended without an answer", "ERR_MCP_PROTOCOL")
        self.connection.fail_call(call.id, problem)

    async def _run(self, call: Call) -> None:
        session = self._count_session(call)
        body = encode({"jsonrpc": "2.0", "id": call.id, "method": call.method, "params": call.params})
        response = await self.endpoint.open("POST", body, {**self._make_headers(), **call.headers})
        try:
            if response.status_code >= 300:
                await self.endpoint.refuse(response, session)
            if call.method == "initialize":
                self._take_session(response)
            position = await self._read_answer(call, response)
        finally:
            await response.aclose()
        if not call.future.done():
            await self._resume(call, position, session)

    def _count_session(self, call: Call) -> int:
        """The number of the session that a request belongs to; 0 for one that has none."""
        has_session = self.session_id is not None and not self.is_modern and call.method != "initialize"
        return max(1, self.session_number) if has_session else 0

    async def _read_answer(self, call: Call, response: "httpx2.Response") -> Event:
        """Take the answer by its content type; gives the place to resume at, where the answer is still missing."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code in (202, 204):
            what = f"HTTP {response.status_code} for a request: no answer will come"
            raise self.endpoint.error(what, "ERR_MCP_PROTOCOL")
        if kind == "text/event-stream":
            return await self.endpoint.read_events(response, self.endpoint.take_message, call.future.done)
        if kind != "application/json" and not kind.endswith("+json"):
            raise self.endpoint.error(
                f'the response has the content type "{quote_line(kind, 80)}" instead of JSON or an event stream',
                "ERR_MCP_PROTOCOL",
                hint="check `url`: it may lead to a sign-in page or a web site",
            )
        body = await self.endpoint.read_body(response)
        try:
            message = decode(body)
        except Malformed as error:
            what = f"no valid JSON: {quote_line(str(error))}" if body.strip() else "empty"
            raise self.endpoint.error(f"the response is {what}", "ERR_MCP_PROTOCOL") from None
        self.connection.receive(message)
        if not call.future.done():
            what = "the response does not hold the answer to its request"
            raise self.endpoint.error(what, "ERR_MCP_PROTOCOL")
        return Event("", b"", "", None)

    def _make_headers(self) -> dict[str, str]:
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if self.session_id:
            headers["mcp-session-id"] = self.session_id
        if self.protocol_version:
            headers["mcp-protocol-version"] = self.protocol_version
        return headers

    def _take_session(self, response: "httpx2.Response") -> None:
        session: str | None = response.headers.get("mcp-session-id")
        if session is not None and not (0 < len(session) <= SESSION_ID_LIMIT and is_visible(session)):
            what = "the session id of the server is not visible ASCII, or too long"
            raise self.endpoint.error(what, "ERR_MCP_PROTOCOL")
        self.session_id = session
        self.session_number += 1

    # -- streams that a GET opens ----------------------------------------------------------

    async def _resume(self, call: Call, position: Event, session: int) -> None:
        """Ask for the rest of a stream that ended before the answer came, if the server gave a place to resume at."""
        for _ in range(RESUMPTIONS_LIMIT):
            if not can_resume(position):
                break
            pause = RESUMPTION_PAUSE if position.retry is None else position.retry / 1000
            await asyncio.sleep(min(pause, LONGEST_PAUSE))
            response = await self._open_stream(position.id)
            try:
                if response.status_code >= 300:
                    await self.endpoint.refuse(response, session)
                take, is_done = self.endpoint.take_message, call.future.done
                position = await self.endpoint.read_events(response, take, is_done, position)
            finally:
                await response.aclose()
            if call.future.done():
                return
        raise self.endpoint.error("the event stream ended before the answer came")

    async def listen(self) -> None:
        import httpx2

        try:
            response = await self._open_stream(self._heard)
            try:
                if response.status_code >= 300:
                    await self.endpoint.refuse(response)
                last = await self.endpoint.read_events(response, self.endpoint.take_message, lambda: False)
                self._heard = last.id if can_resume(last) else ""
            finally:
                await response.aclose()
        except (httpx2.HTTPError, OSError) as error:
            raise self.endpoint.describe_trouble(error) from None

    async def _open_stream(self, last_event_id: str) -> "httpx2.Response":
        headers = {**self._make_headers(), "accept": "text/event-stream"}
        if last_event_id:
            headers["last-event-id"] = last_event_id
        return await self.endpoint.open("GET", None, headers)

    # -- the end ---------------------------------------------------------------------------

    async def close(self, grace: float) -> None:
        """End the session at the server (`DELETE`, handshake era), stop everything, close the client."""
        tasks = [*self._tasks.values(), *([self._poster] if self._poster else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self.session_id and self.session_number and not self.is_modern:
            await self._end_session(min(grace, GOODBYE_TIMEOUT))
        await self.endpoint.close()

    async def _end_session(self, seconds: float) -> None:
        import httpx2

        try:
            response = await self.endpoint.open("DELETE", None, self._make_headers(), seconds)
            await response.aclose()
        except (McpError, httpx2.HTTPError, OSError):
            return  # the session is over in any case
