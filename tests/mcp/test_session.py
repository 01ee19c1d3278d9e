"""Which era a session speaks, how that is found out, and what a request looks like in each."""

import json

import anyio
import pytest
from servers.hostile import MODERN, TOOLS
from servers.loopback import Endpoint, Response, answer, json_response, serve

from runtime.errors import McpError
from runtime.mcp import ServerInfo
from runtime.mcp.fields import ClientInfo

pytestmark = pytest.mark.anyio

MODERN_ONLY = """
def discover(id, params):
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "modern", "version": "3"}}
    return {"supportedVersions": [MODERN], "capabilities": capabilities, "instructions": "be kind", "_meta": meta}
def initialize(id, params):
    raise Refused(-32022, "unsupported", {"supported": [MODERN]})
"""
METAS = {"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo"} | {
    "io.modelcontextprotocol/clientCapabilities"
}


async def seen_by(client):
    return json.loads((await client.call_tool("seen", {}))["content"][0]["text"])


async def test_a_handshake_server_is_initialized_after_it_refused_the_probe(stdio):
    async with stdio(client_info=ClientInfo(name="me", version="9")) as client:
        seen = await seen_by(client)
        server = client.server

    assert server == ServerInfo("hostile", "1", "2025-11-25", {"tools": {}})
    assert [message["method"] for message in seen] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
    ]
    assert seen[1]["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "me", "version": "9"},
    }
    assert seen[-1]["params"]["_meta"] == {"progressToken": seen[-1]["id"]}


async def test_an_older_revision_that_the_server_names_is_accepted(stdio):
    code = """
def initialize(id, params):
    return {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": None}
"""
    async with stdio(code) as client:
        assert client.server == ServerInfo("", "", "2024-11-05", {})


async def test_a_modern_server_is_discovered_and_each_request_says_who_asks(stdio):
    async with stdio(MODERN_ONLY) as client:
        seen = await seen_by(client)
        server = client.server

    assert server == ServerInfo("modern", "3", MODERN, {"tools": {}}, "be kind")
    assert [message["method"] for message in seen] == ["server/discover", "tools/list", "tools/call"]
    assert all(set(message["params"]["_meta"]) - {"progressToken"} == METAS for message in seen)
    assert seen[-1]["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == MODERN


async def test_a_modern_server_that_can_log_is_asked_to(stdio):
    async with stdio(MODERN_ONLY + "\ncapabilities['logging'] = {}") as client:
        seen = await seen_by(client)

    assert seen[-1]["params"]["_meta"]["io.modelcontextprotocol/logLevel"] == "info"


async def test_a_server_that_ignores_the_probe_starts_within_two_seconds(stdio):
    code = "def discover(id, params): return SILENT"
    with anyio.fail_after(2.5):
        async with stdio(code) as client:
            assert client.server.protocol_version == "2025-11-25"


async def test_a_server_that_answers_nothing_but_the_handshake_starts_too(stdio):
    code = """
def discover(id, params): return SILENT
def other(id, method, params): return SILENT
"""
    with anyio.fail_after(4):
        async with stdio(code) as client:
            assert client.server.protocol_version == "2025-11-25"


async def test_a_server_that_dies_of_the_probe_is_started_once_more(stdio, tmp_path):
    code = f"""
open({str(tmp_path / "starts")!r}, "a").write("x")
def discover(id, params): os._exit(1)
"""
    async with stdio(code) as client:
        assert client.server.protocol_version == "2025-11-25"

    assert (tmp_path / "starts").read_text() == "xx"


async def test_a_server_that_boots_slowly_is_not_asked_in_vain(stdio):
    code = MODERN_ONLY + "\nimport time; time.sleep(2)"
    async with stdio(code) as client:
        methods = [message["method"] for message in await seen_by(client)]

    assert client.server is None
    assert methods[:3] == ["server/discover", "ping", "initialize"]
    assert methods[-1] == "tools/call"


@pytest.mark.parametrize("protocol, methods", [("legacy", ["initialize"]), (MODERN, ["server/discover"])])
async def test_a_pinned_protocol_is_the_only_one_tried(stdio, protocol, methods):
    code = """
def discover(id, params): return {"supportedVersions": [MODERN], "capabilities": capabilities}
"""
    async with stdio(code, protocol=protocol) as client:
        seen = [message["method"] for message in await seen_by(client)]

    assert seen[:1] == methods


async def test_versions_that_nobody_here_speaks_are_named(stdio):
    code = """
def discover(id, params): return {"supportedVersions": ["2099-01-01"], "capabilities": {}}
"""
    with pytest.raises(McpError) as caught:
        async with stdio(code):
            pass

    assert caught.value.code == "ERR_MCP_PROTOCOL"
    assert caught.value.message == (
        'the server speaks protocol "2099-01-01"; known here are "2024-11-05" to "2025-11-25" and "2026-07-28"'
    )


async def test_a_refused_handshake_shows_the_words_of_the_server(stdio):
    code = """
def initialize(id, params): raise Refused(-32000, "subscription expired")
"""
    with pytest.raises(McpError) as caught:
        async with stdio(code):
            pass

    assert (caught.value.code, caught.value.message) == (
        "ERR_MCP_JSON_RPC_ERROR",
        "subscription expired (JSON-RPC error -32000)",
    )


class Asking(Endpoint):
    """A modern server that wants input before it answers."""

    is_modern = True

    def call(self, request):
        answers = request.params.get("inputResponses")
        if request.params["name"] == "echo" and not answers:
            wish = {"method": "elicitation/create", "params": {"mode": "form", "requestedSchema": FORM}}
            return {"resultType": "input_required", "inputRequests": {"q": wish}, "requestState": "st=1"}
        if request.params["name"] == "pid" and "requestState" not in request.params:
            return {"resultType": "input_required", "requestState": "later"}
        return {"content": [], "answers": answers, "state": request.params.get("requestState")}


FORM = {"type": "object", "properties": {"color": {"type": "string", "default": "red"}}}


async def test_input_that_a_modern_server_asks_for_is_given_with_its_state(http):
    async with serve(Asking()) as url, http(url, elicitation="accept") as client:
        asked = await client.call_tool("echo", {})
        later = await client.call_tool("pid", {})

    assert asked == {
        "content": [],
        "answers": {"q": {"action": "accept", "content": {"color": "red"}}},
        "state": "st=1",
    }
    assert later == {"content": [], "answers": None, "state": "later"}


async def test_input_that_is_not_offered_fails_the_call(http):
    async with serve(Asking()) as url, http(url) as client:
        with pytest.raises(McpError) as caught:
            await client.call_tool("echo", {})

    assert caught.value.code == "ERR_MCP_PROTOCOL"


class Headers(Endpoint):
    is_modern = True
    tools = (
        {
            "name": "echo",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "region": {"type": "string", "x-mcp-header": "Region"},
                    "deep": {"type": "object", "properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}},
                    "missing": {"type": "integer", "x-mcp-header": "Missing"},
                },
            },
        },
        {"name": "bad", "inputSchema": {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}},
    )

    def dispatch(self, request):
        return {"tools": list(self.tools)} if request.method == "tools/list" else super().dispatch(request)


async def test_a_modern_request_is_mirrored_in_headers(http):
    endpoint = Headers()
    async with serve(endpoint) as url, http(url) as client:
        await client.call_tool("echo", {"region": " süd", "deep": {"on": True}, "missing": None})
        names = [tool["name"] for tool in await client.list_tools()]

    headers = endpoint.seen("tools/call")[0].headers
    assert names == ["echo"]
    assert {name: value for name, value in headers.items() if name.startswith("mcp-")} == {
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": "echo",
        "mcp-param-region": "=?base64?IHPDvGQ=?=",
        "mcp-param-on": "true",
    }


class Picky(Endpoint):
    """Refuses the first probe, and names what it takes."""

    is_modern = True

    async def handle(self, request):
        if len(self.requests) == 1:
            error = {"code": -32022, "message": "unsupported", "data": {"supported": [MODERN], "requested": None}}
            return json_response({"jsonrpc": "2.0", "id": request.id, "error": error}, status=400)
        return await super().handle(request)


async def test_a_modern_server_that_refused_the_probe_is_asked_again(http):
    endpoint = Picky()
    async with serve(endpoint) as url, http(url) as client:
        assert client.server.protocol_version == MODERN

    assert [request.method for request in endpoint.requests] == ["server/discover", "server/discover", "tools/list"]


class Old(Endpoint):
    """Answers what it does not know with a bare status, as servers did before there was a probe."""

    async def handle(self, request):
        return Response(400) if request.method == "server/discover" else await super().handle(request)


async def test_a_bare_400_to_the_probe_means_the_handshake(http):
    async with serve(Old()) as url, http(url) as client:
        assert client.server.protocol_version == "2025-11-25"
        assert list(await client.list_tools()) == TOOLS


async def test_a_result_without_its_type_is_complete(http):
    class Untyped(Endpoint):
        is_modern = True

        async def respond(self, request):
            return answer(request, self.dispatch(request))

    async with serve(Untyped()) as url, http(url) as client:
        assert await client.call_tool("echo", {"text": "x"}) == {"content": [{"type": "text", "text": "x"}]}
