"""`Mcp.ScriptedServer`: tools and answers from the manifest."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from runtime.errors import McpError

pytestmark = pytest.mark.anyio

MANIFEST = """\
kind: Mcp.ScriptedServer
metadata: { name: Fake }
info: { name: files, version: "3" }
instructions: Read first.
requests:
  - { method: resources/read, params: { uri: "a://b" }, result: { contents: [] } }
tools:
  - name: read
    description: Reads.
    inputSchema: { type: object, properties: { path: { type: string }, n: { type: integer } } }
    outputSchema: { type: object }
    annotations: { readOnlyHint: true }
    answers:
      - { when: { path: none }, isError: true, text: "no ${{ arguments.path }}" }
      - { when: { path: lost }, error: { code: ERR_MCP_TRANSPORT, message: "gone with ${{ arguments.path }}" } }
      - { when: { path: both }, text: words, structuredContent: { next: "${{ arguments.n + 1 }}" } }
      - { when: { path: image }, content: [{ type: image, data: aGk=, mimeType: image/png }] }
      - { when: { n: 1 }, text: "n: ${{ arguments.n }}" }
  - name: plain
"""


async def test_the_server_lists_its_tools_as_a_server_does(
    apply: Callable[[str], AbstractAsyncContextManager[Any]],
) -> None:
    async with apply(MANIFEST) as live:
        client = live["Fake"]
        listed = await client.list_tools()

        assert listed == [
            {
                "name": "read",
                "description": "Reads.",
                "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}},
                "outputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": True},
            },
            {"name": "plain", "description": "", "inputSchema": {"type": "object"}},
        ]
        assert (client.server.name, client.server.version, client.instructions) == ("files", "3", "Read first.")
        assert await client.list_tools() is listed


async def test_the_first_answer_that_fits_is_given(
    apply: Callable[[str], AbstractAsyncContextManager[Any]],
) -> None:
    async with apply(MANIFEST) as live:
        client = live["Fake"]
        results = [await client.call_tool("read", given) for given in ({"path": "none"}, {"path": "both", "n": 4})]
        image = await client.call_tool("read", {"path": "image"})
        whole = await client.call_tool("read", {"path": "x", "n": 1})

    assert results == [
        {"content": [{"type": "text", "text": "no none"}], "isError": True},
        {"content": [{"type": "text", "text": "words"}], "isError": False, "structuredContent": {"next": 5}},
    ]
    assert image["content"] == [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]
    assert whole["content"] == [{"type": "text", "text": "n: 1"}]


@pytest.mark.parametrize(
    ("name", "arguments", "code", "message"),
    [
        ("read", {"path": "lost"}, "ERR_MCP_TRANSPORT", "gone with lost"),
        (
            "read",
            {"path": "other"},
            "ERR_MCP_SCRIPT",
            'the script has no answer to a call of "read" with {"path":"other"}',
        ),
        ("plain", {}, "ERR_MCP_SCRIPT", 'the script has no answer to a call of "plain" with {}'),
        ("write", {}, "ERR_MCP_SCRIPT", 'the script has no tool "write"'),
    ],
)
async def test_what_the_script_does_not_have_is_an_error_that_says_so(
    apply: Callable[[str], AbstractAsyncContextManager[Any]],
    name: str,
    arguments: dict[str, Any],
    code: str,
    message: str,
) -> None:
    async with apply(MANIFEST) as live:
        with pytest.raises(McpError) as caught:
            await live["Fake"].call_tool(name, arguments)
    assert (caught.value.code, caught.value.message, caught.value.resource) == (code, message, "Fake")


async def test_an_expression_without_a_value_is_a_fault_of_the_script(
    apply: Callable[[str], AbstractAsyncContextManager[Any]],
) -> None:
    async with apply(MANIFEST) as live:
        with pytest.raises(McpError, match="has no value in this call") as caught:
            await live["Fake"].call_tool("read", {"path": "both"})
    assert caught.value.code == "ERR_MCP_SCRIPT"


async def test_other_requests_are_answered_by_method_and_parameters(
    apply: Callable[[str], AbstractAsyncContextManager[Any]],
) -> None:
    async with apply(MANIFEST) as live:
        assert await live["Fake"].request("resources/read", {"uri": "a://b", "more": 1}) == {"contents": []}
        with pytest.raises(McpError, match=r'no answer to "resources/read" with \{"uri":"c"\}'):
            await live["Fake"].request("resources/read", {"uri": "c"})


async def test_an_answer_can_be_late(apply: Callable[[str], AbstractAsyncContextManager[Any]]) -> None:
    async with apply(MANIFEST.replace("text: words", "delayMs: 60000")) as live:
        with anyio.move_on_after(0.05) as scope:
            await live["Fake"].call_tool("read", {"path": "both", "n": 1})
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            ("type: string", "type: strong"),
            'SCHEMA_VALUE this is no JSON Schema: "properties.path.type" cannot be "strong"',
        ),
        (("name: plain", "name: read"), 'SCHEMA_VALUE the server has a tool "read" already'),
        (("no ${{ arguments.path }}", "no ${{ arguments.pth }}"), 'CEL_UNKNOWN_NAME "arguments.pth" is not in scope'),
        (("isError: true", "isError: 1"), "SCHEMA_TYPE"),
    ],
)
async def test_faults_of_a_script_are_found_with_nothing_started(
    validate: Callable[[str], list[str]], change: tuple[str, str], expected: str
) -> None:
    (found,) = [line for line in validate(MANIFEST.replace(*change)) if "RESOURCE_UNUSED" not in line]
    assert expected in found
