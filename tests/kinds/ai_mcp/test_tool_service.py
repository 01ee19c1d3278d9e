"""A set of servers as one provider, in a manifest and from Python."""

import sys
from pathlib import Path

import pytest

import runtime
from kinds.ai_mcp.loading import (
    DirectServer,
    LogContext,
    McpToolsConfig,
    convert_mcp_tools_to_anthropic,
    convert_mcp_tools_to_gemini,
    fetch_mcp_tools,
    load_direct_mcp_tools,
    load_mcp_tools,
    setup_mcp_tools,
)
from kinds.ai_mcp.service import McpService
from runtime.errors import McpError

pytestmark = pytest.mark.anyio

SERVER = """\
from mcp.server.mcpserver import MCPServer

server = MCPServer("calc")

@server.tool(structured_output=False)
def add(a: int, b: int) -> str:
    "Add two numbers."
    return f"the sum is {a + b}"

@server.tool(structured_output=False)
def fail() -> str:
    "Always fails."
    raise ValueError("no luck")

server.run("stdio")
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    path = tmp_path / "calc.py"
    path.write_text(SERVER)
    return path


def manifest(folder: Path, server: Path, service: str) -> str:
    path = folder / "service.yaml"
    path.write_text(
        f"""\
kind: Mcp.StdioClient
metadata: {{ name: Calc }}
command: {sys.executable}
args: ["{server}"]
---
kind: Mcp.StdioClient
metadata: {{ name: Once }}
command: {sys.executable}
args: ["{server}"]
lifetime: run
---
kind: Mcp.StdioClient
metadata: {{ name: Gone }}
command: no-such-program
required: false
---
kind: AiMcp.ToolService
metadata: {{ name: Tools }}
clients: [!ref Calc, !ref Once, !ref Gone]
{service}
"""
    )
    return str(path)


async def listed(path: str) -> list[str]:
    async with runtime.open_manifests(path) as live:
        return [tool.name for tool in await live["Tools"].list_tools()]


async def test_all_servers_that_are_there_are_offered_under_their_names(server: Path, tmp_path: Path) -> None:
    names = await listed(manifest(tmp_path, server, "enabled: true"))
    assert names == ["mcp__Calc__add", "mcp__Calc__fail", "Once__add", "Once__fail"]


async def test_manual_mode_offers_the_selected_servers(server: Path, tmp_path: Path) -> None:
    names = await listed(manifest(tmp_path, server, "enabled: true\nmode: manual\nselectedServers: [Once]"))
    assert names == ["Once__add", "Once__fail"]


async def test_a_service_that_is_not_enabled_offers_nothing(server: Path, tmp_path: Path) -> None:
    assert await listed(manifest(tmp_path, server, "mode: auto")) == []


async def test_a_call_reaches_the_server_of_the_tool(server: Path, tmp_path: Path) -> None:
    async with runtime.open_manifests(manifest(tmp_path, server, "enabled: true")) as live:
        result = await live["Tools"].call_tool("Once__add", {"a": 20, "b": 22})
    assert [part.text for part in result.output] == ["the sum is 42"]


def test_a_selected_server_that_is_none_is_a_finding(server: Path, tmp_path: Path) -> None:
    path = manifest(tmp_path, server, "enabled: true\nmode: manual\nselectedServers: [Calk]")
    [found] = [each for each in runtime.validate(path) if each.severity == "error"]
    assert (found.code, found.line, found.hint) == ("SCHEMA_VALUE", 22, "the clients are: Calc, Once, Gone")


async def test_direct_tools_run_for_a_session_and_give_text(server: Path, tmp_path: Path) -> None:
    servers = [DirectServer("calc", sys.executable, [str(server)]), DirectServer("gone", "no-such-program")]
    async with load_direct_mcp_tools(servers, folder=tmp_path) as tools:
        assert [tool.name for tool in tools] == ["calc__add", "calc__fail"]
        add, fail = tools
        assert add.parameters["required"] == ["a", "b"]
        assert await add.execute({"a": 1, "b": 2}) == "the sum is 3"
        with pytest.raises(McpError) as caught:
            await fail.execute({})
    assert caught.value.code == "ERR_MCP_TOOL_ERROR"
    assert len(caught.value.details["callId"]) == 32


async def test_tools_are_set_up_in_the_format_of_the_api(server: Path, tmp_path: Path) -> None:
    async with runtime.open_manifests(manifest(tmp_path, server, "enabled: true")) as live:
        service = McpService([live["Calc"]], LogContext("tools", tmp_path))
        assert await fetch_mcp_tools(service) == []
        assert await setup_mcp_tools(service) is None
        found = await setup_mcp_tools(service, McpToolsConfig(enabled=True), "openai")
        assert found is not None
        assert [tool["function"]["name"] for tool in found.tools] == ["mcp__Calc__add", "mcp__Calc__fail"]
        assert convert_mcp_tools_to_anthropic(found.mcp_tools)[0]["input_schema"]["required"] == ["a", "b"]
        [gemini] = convert_mcp_tools_to_gemini(found.mcp_tools)
        assert set(gemini["functionDeclarations"][0]) == {"name", "description", "parameters"}
        [add, _] = await load_mcp_tools(service, ["Calc", "Nobody"])
        assert await add.execute({"a": 2, "b": 3}) == "the sum is 5"
