"""Side by side with the official SDK: on a well-behaved server our client and its client get the same."""

import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client as SdkClient
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from servers.listening import serve

from kinds.mcp.http_client import HttpClient
from kinds.mcp.stdio_client import StdioClient
from runtime.errors import McpError

pytestmark = pytest.mark.anyio

KITCHEN = str(Path(__file__).parents[1] / "servers" / "kitchen.py")
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("add", {"a": 1}),
    ("weather", {"city": "Graz"}),
    ("picture", {}),
    ("fail", {"why": "no flour"}),
    ("count", {"to": 3}),
    ("season", {}),
    ("add", {"a": "x"}),
    ("unknown", {}),
]
REQUESTS = [
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "note://first"}),
    ("resources/read", {"uri": "note://bob"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "greet", "arguments": {"name": "bob"}}),
]


def plain(value: Any) -> Any:
    """A result without nulls and without what only one era says."""
    if isinstance(value, dict):
        left_out = ("resultType", "ttlMs", "cacheScope", "_meta")
        return {key: plain(member) for key, member in value.items() if member is not None and key not in left_out}
    return [plain(member) for member in value] if isinstance(value, list) else value


async def accept(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"wants_salt": True})


async def ask_sdk(transport: Any, mode: str) -> list[Any]:
    async with SdkClient(transport, mode=mode, elicitation_callback=accept, read_timeout_seconds=20) as client:
        got: list[Any] = [client.protocol_version, client.instructions]
        got.append([tool.model_dump(by_alias=True, mode="json") for tool in (await client.list_tools()).tools])
        for name, arguments in CALLS:
            got.append(await try_sdk(client.call_tool(name, arguments)))
        asked = {
            "resources/list": client.list_resources,
            "resources/templates/list": client.list_resource_templates,
            "resources/read": client.read_resource,
            "prompts/list": client.list_prompts,
            "prompts/get": client.get_prompt,
        }
        for method, params in REQUESTS:
            got.append(await try_sdk(asked[method](*params.values())))
        return plain(got)


async def try_sdk(call: Any) -> Any:
    try:
        return (await call).model_dump(by_alias=True, mode="json")
    except MCPError as error:
        return error.code


async def ask_ours(kind: Any, context: Any) -> list[Any]:
    async with kind.open(context) as client:
        got: list[Any] = [client.server.protocol_version, client.server.instructions or None]
        got.append(list(await client.list_tools()))
        for name, arguments in CALLS:
            got.append(await try_ours(client.call_tool(name, arguments)))
        for method, params in REQUESTS:
            got.append(await try_ours(client.request(method, params)))
        return plain(got)


async def try_ours(call: Any) -> Any:
    try:
        return await call
    except McpError as error:
        return error.details["rpcCode"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_stdio_we_get_what_the_sdk_gets(context, mode):
    parameters = StdioServerParameters(command=sys.executable, args=[KITCHEN])
    with anyio.fail_after(60):
        theirs = await ask_sdk(stdio_client(parameters), mode)
        kind = StdioClient(command=sys.executable, args=[KITCHEN], protocol=mode, elicitation="accept")
        ours = await ask_ours(kind, context)

    assert ours == theirs
    assert len(ours[2]) == 6


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_http_we_get_what_the_sdk_gets(context, mode):
    with anyio.fail_after(60), serve(sys.executable, KITCHEN, "http") as port:
        url = f"http://127.0.0.1:{port}/mcp"
        theirs = await ask_sdk(streamable_http_client(url), mode)
        ours = await ask_ours(HttpClient(url=url, protocol=mode, elicitation="accept"), context)

    assert ours == theirs
    assert len(ours[2]) == 6
