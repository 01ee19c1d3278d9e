"""What an HTTP endpoint may do, and what becomes of the call, the session and the connection."""

import asyncio
import gzip
import json
from typing import Any

import anyio
import pytest
from servers.loopback import Endpoint, Response, answer, events, json_response, serve, stream

from runtime.errors import McpError

pytestmark = pytest.mark.anyio

LIMIT = 20.0
JSON = {"Content-Type": "application/json"}


async def fault(call: Any) -> McpError:
    """The error with which a call fails."""
    with anyio.fail_after(LIMIT), pytest.raises(McpError) as caught:
        await call
    return caught.value


async def start_fault(http: Any, url: str, **fields: Any) -> McpError:
    async def start() -> None:
        async with http(url, **fields):
            pass

    return await fault(start())


class OnCall(Endpoint):
    """Works until the first `tools/call`, which `on_call` answers."""

    async def respond(self, request):
        return await self.on_call(request) if request.method == "tools/call" else await super().respond(request)

    async def on_call(self, request):
        return self.response


def on_call(response: Response) -> Endpoint:
    endpoint = OnCall()
    endpoint.response = response
    return endpoint


async def test_configured_headers_go_with_every_request(http):
    endpoint = Endpoint()
    async with serve(endpoint) as url, http(url, headers={"Authorization": "Bearer s3cr3t"}) as client:
        await client.call_tool("echo", {"text": "x"})

    assert {request.headers.get("authorization") for request in endpoint.requests} == {"Bearer s3cr3t"}


@pytest.mark.parametrize(
    "response, code, message",
    [
        (Response(401, b"no s3cr3t"), "ERR_MCP_AUTH", "HTTP 401 Odd: no ***"),
        (Response(403, b"not\nfor\x1b[1m you"), "ERR_MCP_AUTH", "HTTP 403 Odd: not for [1m you"),
        (Response(500, b"oops"), "ERR_MCP_TRANSPORT", "HTTP 500 Odd: oops"),
        (Response(404), "ERR_MCP_TRANSPORT", "HTTP 404 Odd"),
        (Response(202), "ERR_MCP_PROTOCOL", "HTTP 202 for a request: no answer will come"),
        (Response(200, b"", JSON), "ERR_MCP_PROTOCOL", "the response is empty"),
        (
            Response(200, b"<html>", {"Content-Type": "text/html; charset=utf-8"}),
            "ERR_MCP_PROTOCOL",
            'the response has the content type "text/html" instead of JSON or an event stream',
        ),
        (
            json_response({"jsonrpc": "2.0", "id": 987654, "result": {}}),
            "ERR_MCP_PROTOCOL",
            "the response does not hold the answer to its request",
        ),
        (
            json_response({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "bad"}}, status=400),
            "ERR_MCP_JSON_RPC_ERROR",
            "bad (JSON-RPC error -32600)",
        ),
        (
            Response(200, b"not packed", {**JSON, "Content-Encoding": "gzip"}),
            "ERR_MCP_TRANSPORT",
            "the response cannot be unpacked: Error -3 while decompressing data: incorrect header check",
        ),
    ],
)
async def test_an_unusable_response_fails_its_call_and_no_more(http, response, code, message):
    endpoint = on_call(response)
    async with serve(endpoint) as url, http(url) as client:
        error = await fault(client.call_tool("echo", {}))
        listed = await client.request("tools/list")

    assert (error.code, error.message) == (code, message)
    assert len(listed["tools"]) == 3
    assert len(endpoint.seen("tools/call")) == 1


async def test_json_that_is_cut_off_is_a_protocol_error(http):
    async with serve(on_call(Response(200, b'{"jsonrpc":"2.0","id":', JSON))) as url, http(url) as client:
        error = await fault(client.call_tool("echo", {}))

    assert error.code == "ERR_MCP_PROTOCOL"
    assert error.message.startswith("the response is no valid JSON")


async def test_a_broken_connection_fails_its_call_and_the_next_one_works(http):
    class Breaking(Endpoint):
        async def respond(self, request):
            if request.method == "tools/call" and len(self.seen("tools/call")) == 1:
                raise OSError
            return await super().respond(request)

    endpoint = Breaking()
    async with serve(endpoint) as url, http(url) as client:
        error = await fault(client.call_tool("echo", {}))
        after = await client.call_tool("echo", {"text": "works"})

    assert error.code == "ERR_MCP_TRANSPORT"
    assert after["content"][0]["text"] == "works"
    assert len(endpoint.seen("tools/call")) == 2


async def test_a_refused_connection_names_host_and_port(http):
    async with serve(Endpoint()) as url:
        pass
    error = await start_fault(http, url)

    assert error.code == "ERR_MCP_TRANSPORT"
    assert error.message.startswith(f'cannot connect to "{url.split("/")[2]}": ')


async def test_a_body_over_the_limit_is_refused_by_its_declared_length(http):
    endpoint = on_call(Response(200, b"", {**JSON, "Content-Length": "1000000"}))
    async with serve(endpoint) as url, http(url, max_result_bytes=100_000) as client:
        error = await fault(client.call_tool("echo", {}))

    assert (error.code, error.message) == ("ERR_MCP_LIMIT", "the server sent a message of more than 100000 bytes")


async def test_a_packed_body_is_counted_unpacked(http):
    bomb = gzip.compress(b'"' + b"x" * 50_000_000 + b'"')
    endpoint = on_call(Response(200, bomb, {**JSON, "Content-Encoding": "gzip"}))
    async with serve(endpoint) as url, http(url, max_result_bytes=1_000_000) as client:
        error = await fault(client.call_tool("echo", {}))

    assert len(bomb) < 100_000
    assert error.code == "ERR_MCP_LIMIT"


async def test_a_packed_answer_is_unpacked(http):
    class Packing(Endpoint):
        async def respond(self, request):
            plain = await super().respond(request)
            return Response(200, gzip.compress(plain.body), {**JSON, "Content-Encoding": "gzip"})

    async with serve(Packing()) as url, http(url) as client:
        result = await client.call_tool("echo", {"text": "packed"})

    assert result["content"][0]["text"] == "packed"


async def test_an_answer_may_come_on_a_stream_after_other_messages(http, context):
    class Streaming(Endpoint):
        async def respond(self, request):
            note = {"method": "notifications/message", "params": {"level": "info", "data": "working"}}
            return events(note, {"id": request.id, "result": self.dispatch(request)})

    async with serve(Streaming()) as url, http(url) as client:
        result = await client.call_tool("echo", {"text": "streamed"})

    assert result["content"][0]["text"] == "streamed"
    assert "server log, info: working" in context.lines


async def test_a_request_of_the_server_on_a_stream_is_answered_by_a_post(http):
    class Curious(Endpoint):
        async def respond(self, request):
            if request.method != "tools/call":
                return await super().respond(request)
            self.answered = asyncio.Event()

            async def parts():
                yield b'data: {"jsonrpc":"2.0","id":"q","method":"roots/list"}\n\n'
                await self.answered.wait()
                answers = [request.message for request in self.requests if "result" in request.message]
                yield b"data: " + json.dumps({"id": request.id, "result": {"roots": answers}}).encode() + b"\n\n"

            return Response(headers={"Content-Type": "text/event-stream"}, parts=parts())

        async def handle(self, request):
            if "result" in request.message:
                self.answered.set()
            return await super().handle(request)

    async with serve(Curious()) as url, http(url, roots=["file:///data"]) as client:
        with anyio.fail_after(LIMIT):
            result = await client.call_tool("echo", {})

    assert result["roots"] == [{"jsonrpc": "2.0", "id": "q", "result": {"roots": [{"uri": "file:///data"}]}}]


async def test_a_stream_that_ends_early_is_resumed_where_it_ended(http):
    class Polling(Endpoint):
        async def handle(self, request):
            if request.verb == "GET":
                [call] = self.seen("tools/call")
                return events({"id": call.id, "result": {"resumed": request.headers.get("last-event-id")}})
            if request.method == "tools/call":
                return stream(b"id: ev-7\nretry: 10\ndata:\n\n")
            return await super().handle(request)

    endpoint = Polling()
    async with serve(endpoint) as url, http(url) as client:
        result = await client.call_tool("echo", {})

    assert result == {"resumed": "ev-7"}
    assert len(endpoint.seen("tools/call")) == 1


async def test_a_stream_is_resumed_so_many_times(http):
    class Endless(Endpoint):
        async def handle(self, request):
            if request.verb == "GET" or request.method == "tools/call":
                return stream(b"id: 1\nretry: 1\ndata:\n\n")
            return await super().handle(request)

    endpoint = Endless()
    async with serve(endpoint) as url, http(url) as client:
        error = await fault(client.call_tool("echo", {}))

    assert (error.code, error.message) == ("ERR_MCP_TRANSPORT", "the event stream ended before the answer came")
    assert len([request for request in endpoint.requests if request.verb == "GET"]) == 5


@pytest.mark.parametrize(
    "part", [b'data: {"jsonrpc":"2.0","id":', b"", b": only a comment\n\n", b"id: \xff\xc3\ndata:\n\n"]
)
async def test_a_stream_that_ends_for_good_fails_its_call(http, part):
    async with serve(on_call(stream(part))) as url, http(url) as client:
        error = await fault(client.call_tool("echo", {}))

    assert (error.code, error.message) == ("ERR_MCP_TRANSPORT", "the event stream ended before the answer came")


async def test_an_event_over_the_limit_fails_its_call(http):
    endpoint = on_call(stream(b"data: ", *[b"x" * 50_000] * 4))
    async with serve(endpoint) as url, http(url, max_result_bytes=100_000) as client:
        error = await fault(client.call_tool("echo", {}))

    assert error.code == "ERR_MCP_LIMIT"


async def test_a_silent_call_times_out_and_the_server_sees_it_gone(http):
    class Silent(Endpoint):
        gone = asyncio.Event()

        async def respond(self, request):
            if request.method != "tools/call":
                return await super().respond(request)

            async def parts():
                while True:
                    yield b": waiting\n\n"
                    await asyncio.sleep(0.01)

            return Response(headers={"Content-Type": "text/event-stream"}, parts=parts())

    endpoint = Silent()
    async with serve(endpoint) as url, http(url, call_timeout_ms=200) as client:
        error = await fault(client.call_tool("echo", {}))
        listed = await client.request("tools/list")

    assert error.code == "ERR_MCP_TIMEOUT"
    assert len(listed["tools"]) == 3
    [call], [notice] = endpoint.seen("tools/call"), endpoint.seen("notifications/cancelled")
    assert notice.params["requestId"] == call.id


class Stateful(Endpoint):
    """Gives out sessions and insists on them; `forget()` loses them all."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def forget(self) -> None:
        self.count += 1

    @property
    def session(self) -> str:
        return f"session-{self.count}"

    async def handle(self, request):
        if request.verb == "DELETE":
            return Response(200)
        if request.method == "initialize":
            return answer(request, self.dispatch(request), Mcp_Session_Id=self.session)
        if request.method != "server/discover" and request.headers.get("mcp-session-id") != self.session:
            return Response(404)
        return await super().handle(request)


async def test_a_session_is_kept_and_ended(http):
    endpoint = Stateful()
    async with serve(endpoint) as url, http(url) as client:
        await client.call_tool("echo", {})

    later = endpoint.requests[2:]
    assert {request.headers["mcp-session-id"] for request in later} == {"session-0"}
    assert {request.headers["mcp-protocol-version"] for request in later} == {"2025-11-25"}
    assert later[-1].verb == "DELETE"


async def test_a_forgotten_session_is_opened_again_once_for_all_calls(http):
    endpoint = Stateful()
    results = []
    async with serve(endpoint) as url, http(url) as client:
        endpoint.forget()

        async def call(number):
            results.append((await client.call_tool("echo", {"text": str(number)}))["content"][0]["text"])

        with anyio.fail_after(LIMIT):
            async with anyio.create_task_group() as group:
                for number in range(5):
                    group.start_soon(call, number)

    assert sorted(results) == ["0", "1", "2", "3", "4"]
    assert len(endpoint.seen("initialize")) == 2
    assert "mcp-session-id" not in endpoint.seen("initialize")[1].headers


async def test_a_session_that_is_lost_again_is_an_error_without_the_id(http):
    class Forgetful(Stateful):
        async def handle(self, request):
            if request.method == "tools/call":
                self.forget()
            return await super().handle(request)

    endpoint = Forgetful()
    async with serve(endpoint) as url, http(url) as client:
        error = await fault(client.call_tool("echo", {}))

    assert error.code == "ERR_MCP_SESSION_INVALID"
    assert "session-" not in str(error) + json.dumps(error.details)
    assert len(endpoint.seen("initialize")) == 2
    assert len(endpoint.seen("tools/call")) == 2


async def test_a_session_id_that_is_no_header_value_is_refused(http):
    class Odd(Stateful):
        session = "a b"

    async with serve(Odd()) as url:
        error = await start_fault(http, url)

    assert error.code == "ERR_MCP_PROTOCOL"


async def test_a_session_from_elsewhere_is_joined_and_not_ended(http):
    endpoint = Stateful()
    async with serve(endpoint) as url, http(url, session_id="session-0") as client:
        await client.call_tool("echo", {"text": "x"})

    assert [request.method for request in endpoint.requests] == ["tools/list", "tools/call"]


@pytest.mark.parametrize("status, tries", [(429, 2), (503, 2), (500, 1), (502, 1)])
async def test_a_call_is_repeated_only_where_the_server_refused_it(http, status, tries):
    class Busy(Endpoint):
        async def respond(self, request):
            if request.method == "tools/call" and len(self.seen("tools/call")) == 1:
                return Response(status, b"busy", {"Retry-After": "0"})
            return await super().respond(request)

    endpoint = Busy()
    async with serve(endpoint) as url, http(url) as client:
        if tries == 1:
            assert (await fault(client.call_tool("echo", {}))).details == {"status": status, "retryAfterMs": 0}
        else:
            assert (await client.call_tool("echo", {"text": "x"}))["content"][0]["text"] == "x"

    assert len(endpoint.seen("tools/call")) == tries


async def test_a_start_is_tried_again_while_the_server_is_busy(http):
    class Booting(Endpoint):
        async def handle(self, request):
            return Response(503) if len(self.requests) <= 2 else await super().handle(request)

    endpoint = Booting()
    async with serve(endpoint) as url, http(url) as client:
        assert client.server is not None

    assert len(endpoint.seen("server/discover")) == 3


async def test_a_redirect_within_the_origin_is_followed_with_its_body(http):
    class Moved(Endpoint):
        async def handle(self, request):
            if request.path == "/mcp":
                return Response(308, b"", {"Location": "/mcp/v1"})
            return await super().handle(request)

    endpoint = Moved()
    async with serve(endpoint) as url, http(url) as client:
        result = await client.call_tool("echo", {"text": "moved"})

    assert result["content"][0]["text"] == "moved"
    assert [request.path for request in endpoint.requests].count("/mcp") == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_elsewhere_is_named_and_not_followed(http, status):
    elsewhere = Endpoint()

    class Luring(Endpoint):
        async def handle(self, request):
            return Response(status, b"", {"Location": elsewhere.url + "?token=s3cr3t"})

    async with serve(elsewhere) as other, serve(Luring()) as url:
        error = await start_fault(http, url, headers={"Authorization": "Bearer s3cr3t"})

    assert error.code == "ERR_MCP_TRANSPORT"
    assert error.message == f'the server redirects to "{other}" (HTTP {status}), which is not followed'
    assert elsewhere.requests == []


async def test_redirects_without_end_are_given_up(http):
    class Circling(Endpoint):
        async def handle(self, request):
            return Response(307, b"", {"Location": "/mcp"})

    endpoint = Circling()
    async with serve(endpoint) as url:
        error = await start_fault(http, url)

    assert error.message == "the server redirects without end"
    assert len(endpoint.requests) == 6


async def test_changes_of_the_handshake_era_come_on_a_stream_of_their_own(http):
    class Changing(Endpoint):
        def __init__(self):
            super().__init__()
            self.capabilities = {"tools": {"listChanged": True}}
            self.names = ["one"]

        async def handle(self, request):
            if request.verb == "GET":
                return stream(b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n')
            return await super().handle(request)

        def dispatch(self, request):
            if request.method == "tools/list":
                return {"tools": [{"name": name} for name in self.names]}
            return super().dispatch(request)

    endpoint = Changing()
    async with serve(endpoint) as url, http(url) as client:
        with anyio.fail_after(LIMIT):
            while client.tools_generation == 0:
                await client.request("ping")
        endpoint.names = ["one", "two"]
        names = [tool["name"] for tool in await client.list_tools()]

    assert names == ["one", "two"]


async def test_an_invalid_url_is_an_error_that_says_so(http):
    error = await start_fault(http, "http://[::1")

    assert error.code == "ERR_MCP_TRANSPORT"
    assert error.message.startswith("the endpoint cannot be used")
