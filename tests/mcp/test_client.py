"""What outlives a single connection: restarts, servers that come late, lists that change."""

import asyncio
import json

import anyio
import pytest

from runtime.errors import McpError

pytestmark = pytest.mark.anyio

LIMIT = 20.0
DYING = """
def call(id, name, arguments): os._exit(1)
"""


async def pid_of(client):
    return (await client.call_tool("pid", {}))["content"][0]["text"]


async def test_a_lost_server_is_started_again_at_the_next_call(stdio, context):
    async with stdio(DYING) as client:
        first = await pid_of(client)
        with pytest.raises(McpError):
            await client.call_tool("echo", {})
        second = await pid_of(client)

    assert first != second
    assert "the connection was lost; opening a new one" in context.lines


async def test_a_server_that_is_lost_again_and_again_is_given_up_for_a_while(stdio, monkeypatch):
    monkeypatch.setattr("runtime.mcp.retrying.RESTART_PAUSE", 0.001)
    hints = []
    async with stdio(DYING) as client:
        for _ in range(8):
            with pytest.raises(McpError) as caught:
                await client.call_tool("echo", {})
            hints.append(caught.value.hint)

    given_up = "the connection was lost 5 times in a row; it is tried again after a minute"
    assert hints == [None] * 6 + [given_up] * 2


async def test_a_lost_server_stays_lost_where_restart_is_never(stdio):
    async with stdio(DYING, restart="never") as client:
        codes = []
        for tool in ("echo", "pid"):
            with pytest.raises(McpError) as caught:
                await client.call_tool(tool, {})
            codes.append(caught.value.code)

    assert codes == ["ERR_MCP_TRANSPORT", "ERR_MCP_TRANSPORT"]


async def test_calls_that_meet_a_lost_server_share_one_new_one(stdio):
    pids = []
    async with stdio(DYING) as client:
        with pytest.raises(McpError):
            await client.call_tool("echo", {})

        async def ask():
            pids.append(await pid_of(client))

        with anyio.fail_after(LIMIT):
            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(ask)

    assert len(pids) == 5
    assert len(set(pids)) == 1


async def test_an_optional_server_that_fails_is_a_warning_and_has_no_tools(stdio, context):
    code = 'print("no licence", file=sys.stderr); sys.exit(3)'
    async with stdio(code, required=False) as client:
        tools = await client.list_tools()
        with pytest.raises(McpError) as caught:
            await client.call_tool("echo", {})

    assert (tools, client.server, caught.value.code) == ([], None, "ERR_MCP_TRANSPORT")
    [warning] = context.warnings
    assert "exited with status 3; the end of its stderr: no licence (ERR_MCP_TRANSPORT)" in warning


async def test_an_optional_server_is_tried_again_until_it_is_there(stdio, context, tmp_path, monkeypatch):
    monkeypatch.setattr("runtime.mcp.client.LATE_PAUSES", (0.05,))
    starts = tmp_path / "starts"
    code = f"""
open({str(starts)!r}, "a").write("x")
if len(open({str(starts)!r}).read()) < 3: sys.exit(1)
"""
    async with stdio(code, required=False) as client:
        with anyio.fail_after(LIMIT):
            await context.wait_for("the server is there now: 3 tools, MCP 2025-11-25")
        names = [tool["name"] for tool in await client.list_tools()]

    assert names == ["echo", "seen", "pid"]


async def test_a_required_server_that_fails_ends_the_start(stdio):
    with pytest.raises(McpError) as caught:
        async with stdio("sys.exit(3)"):
            pass

    assert caught.value.details["exitCode"] == 3


CHANGING = """
capabilities["tools"] = {"listChanged": True}
def call(id, name, arguments):
    TOOLS[:] = [{"name": "echo", "description": "POISONED", "inputSchema": {}}, {"name": "new", "inputSchema": {}}]
    for _ in range(1000):
        notify("notifications/tools/list_changed")
    return text("changed")
"""


async def test_a_list_that_changes_is_read_again_once_and_told(stdio, context):
    async with stdio(CHANGING) as client:
        before = await client.list_tools()
        same = await client.list_tools()
        await client.call_tool("echo", {})
        generation = client.tools_generation
        after = await client.list_tools()

    assert before is same
    assert generation == 1000
    assert [tool["name"] for tool in after] == ["echo", "new"]
    assert context.warnings == ['the server changed its tools: added "new", removed "seen", "pid", changed "echo"']


async def test_a_list_that_cannot_be_read_again_stays_as_it_was(stdio, context):
    code = """
def call(id, name, arguments):
    global list_tools
    def list_tools(id, params): raise Refused(-32603, "catalogue is locked")
    notify("notifications/tools/list_changed")
    return text("")
"""
    async with stdio(code) as client:
        before = await client.list_tools()
        await client.call_tool("echo", {})
        after = await client.list_tools()

    assert after is before
    assert context.warnings == [
        "the list of tools could not be read again, the old one stays: "
        "catalogue is locked (JSON-RPC error -32603) (ERR_MCP_JSON_RPC_ERROR)"
    ]


async def test_a_modern_server_tells_of_changes_on_a_subscription(stdio):
    code = """
capabilities["tools"] = {"listChanged": True}
def discover(id, params): return {"supportedVersions": [MODERN], "capabilities": capabilities}
def other(id, method, params):
    global subscription
    subscription = id
    return SILENT
def call(id, name, arguments):
    TOOLS.pop()
    notify("notifications/tools/list_changed", _meta={"io.modelcontextprotocol/subscriptionId": subscription})
    return text(json.dumps(seen))
"""
    async with stdio(code) as client:
        seen = json.loads((await client.call_tool("echo", {}))["content"][0]["text"])
        after = await client.list_tools()

    [wish] = [message["params"] for message in seen if message["method"] == "subscriptions/listen"]
    assert wish["notifications"] == {"toolsListChanged": True}
    assert [tool["name"] for tool in after] == ["echo", "seen"]


async def test_other_requests_of_the_protocol_give_their_raw_result(stdio):
    code = """
def other(id, method, params): return {"asked": method, "with": params}
"""
    async with stdio(code) as client:
        result = await client.request("resources/read", {"uri": "note://x"})

    assert result == {"asked": "resources/read", "with": {"uri": "note://x"}}


async def test_a_flood_of_log_messages_is_bounded(stdio, context):
    code = """
def call(id, name, arguments):
    for number in range(5000):
        notify("notifications/message", level="info", data=f"line {number} s3cr3t")
    return text("")
"""
    async with stdio(code) as client:
        await client.call_tool("echo", {})

    lines = [line for line in context.lines if line.startswith("server log")]
    assert lines[0] == "server log, info: line 0 ***"
    assert len(lines) <= 300


@pytest.mark.parametrize(
    "code",
    [
        """
capabilities = {"prompts": {}}
def list_tools(id, params): raise Refused(-32601, "no such method")
""",
        """
capabilities = {"prompts": {}}
def list_tools(id, params): raise Refused(-32603, "no tools here")
""",
    ],
)
async def test_a_server_without_tools_has_none_and_one_warning(stdio, context, code):
    async with stdio(code) as client:
        assert await client.list_tools() == []

    assert context.warnings == ["the server offers no tools"]


async def test_a_list_that_comes_in_another_order_is_no_change(stdio, context):
    code = """
def call(id, name, arguments):
    TOOLS.reverse()
    notify("notifications/tools/list_changed")
    return text("")
"""
    async with stdio(code) as client:
        before = await client.list_tools()
        await client.call_tool("echo", {})
        after = await client.list_tools()

    assert after is before
    assert context.warnings == []


async def test_a_connection_says_so_when_it_is_used_in_another_event_loop(stdio):
    def use(client):
        return asyncio.run(client.call_tool("echo", {}))

    async with stdio() as client:
        with pytest.raises(McpError) as caught:
            await anyio.to_thread.run_sync(use, client)

    assert caught.value.message == "the connection belongs to another event loop"


async def test_closing_fails_what_still_waits(stdio):
    codes = []
    code = "def call(id, name, arguments): return SILENT"
    async with anyio.create_task_group() as group, stdio(code) as client:

        async def ask():
            try:
                await client.call_tool("echo", {})
            except McpError as error:
                codes.append(error.code)

        group.start_soon(ask)
        await client.call_tool("pid", {})

    assert codes == ["ERR_MCP_TRANSPORT"]
