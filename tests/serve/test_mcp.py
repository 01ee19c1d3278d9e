"""`runtime serve` as the official SDK's client sees it."""

import json
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from command import LIMIT, RUNTIME, environment, left_behind, run
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from serving import SECRET, Gate, Served, gated, serving

pytestmark = pytest.mark.anyio
TOKEN = "a-token-for-the-tests"
CLOCK = """
kind: Mcp.StdioClient
metadata: { name: TimeServer }
command: mcp-server-time
---
kind: AiMcp.ToolProvider
metadata: { name: TimeTools }
client: !ref TimeServer
---
kind: Ai.ScriptedModel
metadata: { name: Model }
---
kind: Ai.Agent
metadata: { name: Clock, description: Knows the time. }
model: !ref Model
toolProviders: [{ provider: !ref TimeTools, prefix: time_, include: [get_current_time] }]
"""

PLAIN = """
kind: Ai.ScriptedModel
metadata: { name: Model }
---
kind: Ai.Agent
metadata: { name: Clock, description: Knows the time. }
model: !ref Model
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Gate]]:
    with gated(tmp_path_factory.mktemp("service"), RUNTIME_SERVE_TOKEN=TOKEN) as pair:
        yield pair


@asynccontextmanager
async def connected(url: str, mode: str, token: str = "") -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=30) as client:
            yield client


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_agents_are_tools_in_both_eras(service: tuple[Served, Gate], mode: str, version: str) -> None:
    async with connected(service[0].url, mode, TOKEN) as client:
        tools = (await client.list_tools()).tools
        answer = await client.call_tool("Porter", {"prompt": "hi"})
        secret = await client.call_tool("Porter", {"prompt": "secret"})

        assert client.protocol_version == version
    assert [(tool.name, tool.input_schema["required"]) for tool in tools] == [("Porter", ["prompt"])]
    assert [(block.type, block.text) for block in answer.content] == [("text", "hello")]
    assert ([block.text for block in secret.content], SECRET in str(secret)) == (["it is ***, yes"], False)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_call_that_does_not_fit_is_an_error_of_the_tool_and_an_unknown_tool_one_of_the_protocol(
    service: tuple[Served, Gate], mode: str
) -> None:
    async with connected(service[0].url, mode, TOKEN) as client:
        answer = await client.session.call_tool("Porter", {"text": "hi"})
        with pytest.raises(MCPError) as caught:
            await client.session.call_tool("Nobody", {})

    assert (answer.is_error, "ERR_TOOL_ARGUMENTS" in answer.content[0].text) == (True, True)
    assert (caught.value.code, caught.value.message) == (-32602, 'there is no tool "Nobody"; the tools are: Porter')


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_tool_calls_of_a_run_are_its_progress(service: tuple[Served, Gate], mode: str) -> None:
    served, gate = service
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def open_gate() -> None:
        tool = await anyio.to_thread.run_sync(gate.wait_for_call)
        while not told:
            await anyio.lowlevel.checkpoint()
        tool.sendall(b"yes")

    async with connected(served.url, mode, TOKEN) as client, anyio.create_task_group() as group:
        group.start_soon(open_gate)
        answer = await client.session.call_tool("Porter", {"prompt": "gate"}, progress_callback=note)

    assert told == [(1, None, "calls wait"), (2, None, "has the answer of wait")]
    assert answer.content[0].text == "the gate said yes"


async def test_a_call_that_is_given_up_ends_its_run(service: tuple[Served, Gate]) -> None:
    served, gate = service
    async with connected(served.url, "legacy", TOKEN) as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "Porter", {"prompt": "gate"})
        tool = await anyio.to_thread.run_sync(gate.wait_for_call)
        group.cancel_scope.cancel()
    assert await anyio.to_thread.run_sync(tool.recv, 1) == b""


async def test_without_the_token_there_is_no_mcp(service: tuple[Served, Gate]) -> None:
    answer = service[0].client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})

    assert answer.status_code == 401


async def test_the_tools_of_an_agent_are_exposed_as_it_offers_them(tmp_path: Path) -> None:
    (tmp_path / "clock.yaml").write_text(CLOCK)
    with serving(tmp_path, "clock.yaml", "--expose", "tools") as served:
        async with connected(served.url, "auto") as client:
            [tool] = (await client.list_tools()).tools
            answer = await client.call_tool("time_get_current_time", {"timezone": "Asia/Tokyo"})
            with pytest.raises(MCPError) as caught:
                await client.session.call_tool("time_convert_time", {})

    assert (tool.name, tool.input_schema["required"]) == ("time_get_current_time", ["timezone"])
    assert (answer.is_error, answer.structured_content["timezone"]) == (False, "Asia/Tokyo")
    assert json.loads(answer.content[0].text) == answer.structured_content
    assert caught.value.code == -32602


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_pipes_agents_are_tools_too(tmp_path: Path, mode: str) -> None:
    (tmp_path / "clock.yaml").write_text(PLAIN)
    parameters = StdioServerParameters(
        command=RUNTIME, args=["serve", "--stdio", "clock.yaml"], env=environment(tmp_path), cwd=str(tmp_path)
    )
    with (tmp_path / "log").open("w") as log:
        async with Client(stdio_client(parameters, errlog=log), mode=mode, read_timeout_seconds=30) as client:
            [tool] = (await client.list_tools()).tools
            answer = await client.call_tool("Clock", {"prompt": "sing a song"})

    assert (tool.name, tool.description) == ("Clock", "Knows the time.")
    assert "No tool fits the prompt" in answer.content[0].text
    assert left_behind(tmp_path) == []


def test_over_pipes_the_service_ends_at_a_signal_and_at_the_end_of_its_input(tmp_path: Path) -> None:
    (tmp_path / "clock.yaml").write_text(PLAIN)
    codes = []
    for end in (lambda process: process.send_signal(signal.SIGTERM), lambda process: process.stdin.close()):
        with subprocess.Popen(
            [RUNTIME, "serve", "--stdio", "clock.yaml"],
            env=environment(tmp_path),
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process:
            while not process.stderr.readline().startswith(b"speaking MCP"):
                pass
            end(process)
            codes.append(process.wait(timeout=LIMIT))

    assert (codes, left_behind(tmp_path)) == ([0, 0], [])


def test_whose_tools_are_meant_has_to_be_said(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(PLAIN + "---\nkind: Ai.Agent\nmetadata: { name: Other }\nmodel: !ref Model\n")
    ended = run(tmp_path, "serve", "two.yaml", "--expose", "tools", "--port", "0", "--quiet")

    assert (ended.code, 'hint: pick one with "--agent": Clock, Other' in ended.err) == (2, True)
