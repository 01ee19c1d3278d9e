"""`Mcp.ToolsCall` and `Mcp.ToolsList`: a server's tools without any model."""

import sys

import pytest

from runtime.errors import McpError

pytestmark = pytest.mark.anyio

MANIFEST = f"""
kind: Mcp.StdioClient
metadata: {{ name: Server }}
command: {sys.executable}
args:
  - -S
  - -E
  - HOSTILE
  - "def call(id, name, arguments): return {{**text(json.dumps(arguments)), 'isError': 'fail' in arguments}}"
---
kind: Mcp.ToolsList
metadata: {{ name: All }}
client: !ref Server
---
kind: Mcp.ToolsCall
metadata: {{ name: Any }}
client: !ref Server
---
kind: Mcp.ToolsCall
metadata: {{ name: Echo }}
client: !ref Server
tool: echo
arguments: {{ a: 1, b: 2 }}
"""


async def test_tools_are_listed_as_the_server_sent_them(apply):
    async with apply(MANIFEST) as live:
        listed = await live["All"].invoke({})

    assert [tool["name"] for tool in listed["tools"]] == ["echo", "seen", "pid"]
    assert set(listed["tools"][0]) == {"name", "description", "inputSchema"}


async def test_a_tool_is_called_by_its_inputs(apply):
    async with apply(MANIFEST) as live:
        result = await live["Any"].invoke({"name": "echo", "arguments": {"x": 1}})

    assert result == {"content": [{"type": "text", "text": '{"x": 1}'}], "isError": False}


async def test_arguments_of_the_manifest_are_the_defaults(apply):
    async with apply(MANIFEST) as live:
        plain = await live["Echo"].invoke({})
        given = await live["Echo"].invoke({"arguments": {"b": 3}})

    assert plain["content"][0]["text"] == '{"a": 1, "b": 2}'
    assert given["content"][0]["text"] == '{"a": 1, "b": 3}'


async def test_a_result_that_is_an_error_is_raised_with_its_content(apply):
    async with apply(MANIFEST) as live:
        with pytest.raises(McpError) as caught:
            await live["Echo"].invoke({"arguments": {"fail": 1}})

    assert (caught.value.code, caught.value.resource) == ("ERR_MCP_TOOL_ERROR", "Server")
    assert caught.value.details == {
        "tool": "echo",
        "content": [{"type": "text", "text": '{"a": 1, "b": 2, "fail": 1}'}],
    }


@pytest.mark.parametrize("inputs", [{}, {"name": 7}, {"name": "echo", "arguments": [1]}])
async def test_inputs_that_name_no_tool_are_refused(apply, inputs):
    async with apply(MANIFEST) as live:
        with pytest.raises(McpError) as caught:
            await live["Any"].invoke(inputs)

    assert caught.value.code == "ERR_MCP_INPUT"
