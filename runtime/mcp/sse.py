"""The transport before Streamable HTTP (MCP 2024-11-05): a GET opens the stream of answers, requests are POSTed.

The stream's first event names the address for the POSTs, which must be of the same origin.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime.errors import McpError
from runtime.mcp.connection import Call, Connection
from runtime.mcp.endpoint import Endpoint, is_same_origin
from runtime.mcp.event_stream import Event
from runtime.mcp.message import encode

if TYPE_CHECKING:  # heavy: a run without HTTP never pays for it
    import httpx2

POST_TIMEOUT = 30.0  # seconds for the server to take a message


class SseWire:
    """One event stream as a wire; `open` it before anything is sent."""

    def __init__(self, connection: Connection, endpoint: Endpoint) -> None:
        self.connection = connection
        self.endpoint = endpoint
        self.protocol_version = ""
        self._address: asyncio.Future[httpx2.URL] = asyncio.get_running_loop().create_future()
        self._stream: asyncio.Task[None] | None = None
        self._posts: set[asyncio.Task[None]] = set()

    @property
    def received(self) -> int:
        return self.endpoint.received

    async def open(self, deadline: float) -> None:
        """Open the stream and wait for the address; raises `McpError`."""
        self._stream = asyncio.get_running_loop().create_task(self._read())
        seconds = max(0.0, deadline - self.connection.now())
        await asyncio.wait({self._address, self.connection.failed}, timeout=seconds, return_when="FIRST_COMPLETED")
        if self.connection.failure:
            raise self.connection.failure
        if not self._address.done():
            raise self.endpoint.error("the event stream did not name an address in time", "ERR_MCP_TIMEOUT")

    async def _read(self) -> None:
        import httpx2

        try:
            response = await self.endpoint.open("GET", None, {"accept": "text/event-stream"})
            try:
                if response.status_code >= 300:
                    await self.endpoint.refuse(response)
                await self.endpoint.read_events(response, self._take, lambda: False)
            finally:
                await response.aclose()
            problem = self.endpoint.error("the event stream ended")
        except McpError as error:
            problem = error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            problem = self.endpoint.describe_trouble(error)
        except Exception as error:  # the border: what a server sends must not end more than its own connection
            what = f"the HTTP client cannot make sense of the server: {type(error).__name__}"
            problem = self.endpoint.error(what, "ERR_MCP_PROTOCOL")
        self.connection.fail(problem)

    def _take(self, event: Event) -> None:
        if event.name != "endpoint":
            self.endpoint.take_message(event)
        elif not self._address.done():
            import httpx2

            here = httpx2.URL(self.endpoint.url)
            address = here.join(event.data.decode("utf-8", "replace").strip())
            if not is_same_origin(address, here) or address.userinfo:
                raise self.endpoint.error("the event stream names an address of another origin", "ERR_MCP_PROTOCOL")
            self._address.set_result(address)

    def send(self, call: Call) -> None:
        self._start_post({"jsonrpc": "2.0", "id": call.id, "method": call.method, "params": call.params}, call)

    def post(self, message: Mapping[str, Any]) -> None:
        self._start_post(message, None)

    def _start_post(self, message: Mapping[str, Any], call: Call | None) -> None:
        task = asyncio.get_running_loop().create_task(self._post(message, call))
        self._posts.add(task)
        task.add_done_callback(self._posts.discard)

    async def _post(self, message: Mapping[str, Any], call: Call | None) -> None:
        import httpx2

        try:
            address, headers = self._address.result(), {"content-type": "application/json"}
            response = await self.endpoint.open("POST", encode(message), headers, POST_TIMEOUT, address)
            try:
                if response.status_code >= 300:
                    await self.endpoint.refuse(response)
            finally:
                await response.aclose()
        except McpError as error:
            problem = error
        except (httpx2.HTTPError, OSError) as error:
            problem = self.endpoint.describe_trouble(error)
        else:
            return
        if call:
            self.connection.fail_call(call.id, problem)
        else:
            self.connection.listener.puzzled(f"nothing for a message of ours: {problem.message}")

    def drop(self, call: Call, reason: str) -> None:
        self.connection.cancel(call, reason)

    async def flush(self, seconds: float) -> None:
        if self._posts:
            await asyncio.wait(set(self._posts), timeout=max(0.0, seconds))

    async def listen(self) -> None:
        """All that a server sends comes on its one stream."""

    async def close(self, grace: float) -> None:
        tasks = [*self._posts, *([self._stream] if self._stream else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self.endpoint.close()
