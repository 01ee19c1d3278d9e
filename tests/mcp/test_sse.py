"""The transport before Streamable HTTP: one stream for all answers, POSTs to the address that it names."""

import asyncio
import json

import anyio
import pytest
from servers.loopback import Endpoint, Response, serve

from runtime.errors import McpError

pytestmark = pytest.mark.anyio


class OldServer(Endpoint):
    address = "/messages?session=1"

    def __init__(self) -> None:
        super().__init__()
        self.outbox: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def handle(self, request):
        if request.verb == "GET":

            async def parts():
                yield f"event: endpoint\ndata: {self.address}\n\n".encode()
                while (message := await self.outbox.get()) is not None:
                    yield message

            return Response(headers={"Content-Type": "text/event-stream"}, parts=parts())
        if request.id is not None:
            result = {"jsonrpc": "2.0", "id": request.id, "result": self.dispatch(request)}
            self.outbox.put_nowait(b"event: message\ndata: " + json.dumps(result).encode() + b"\n\n")
        return Response(202)


async def test_answers_come_on_the_stream(http):
    endpoint = OldServer()
    async with serve(endpoint, "/sse") as url, http(url, transport="sse") as client:
        result = await client.call_tool("echo", {"text": "old"})

    assert result["content"][0]["text"] == "old"
    assert {request.path for request in endpoint.requests if request.verb == "POST"} == {"/messages?session=1"}
    assert [request.method for request in endpoint.requests][1] == "initialize"


async def test_the_end_of_the_stream_fails_what_waits(http):
    class Ending(OldServer):
        def dispatch(self, request):
            if request.method == "tools/call":
                self.outbox.put_nowait(None)
            return super().dispatch(request)

        async def handle(self, request):
            if request.method == "tools/call":
                self.outbox.put_nowait(None)
                return Response(202)
            return await super().handle(request)

    async with serve(Ending(), "/sse") as url, http(url, transport="sse", restart="never") as client:
        with anyio.fail_after(10), pytest.raises(McpError) as caught:
            await client.call_tool("echo", {})

    assert (caught.value.code, caught.value.message) == ("ERR_MCP_TRANSPORT", "the event stream ended")


async def test_an_address_of_another_origin_is_refused(http):
    class Luring(OldServer):
        address = "http://127.0.0.1:1/messages"

    async with serve(Luring(), "/sse") as url:
        with anyio.fail_after(10), pytest.raises(McpError) as caught:
            async with http(url, transport="sse"):
                pass

    assert caught.value.message == "the event stream names an address of another origin"


async def test_a_stream_that_names_no_address_times_out(http):
    class Mute(OldServer):
        async def handle(self, request):
            async def parts():
                yield b": hello\n\n"
                await self.outbox.get()

            return Response(headers={"Content-Type": "text/event-stream"}, parts=parts())

    async with serve(Mute(), "/sse") as url:
        with anyio.fail_after(10), pytest.raises(McpError) as caught:
            async with http(url, transport="sse", connect_timeout_ms=200):
                pass

    assert caught.value.code == "ERR_MCP_TIMEOUT"
