"""`AiMcp.ToolProvider`: MCP's tools and results in the words of agents."""

from pathlib import Path
from typing import Any

import pytest

from kinds.ai_mcp.tool_provider import McpToolProvider
from runtime.ai import Image, Text, Tool, ToolResult
from runtime.errors import McpError

pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}
CELSIUS = {"type": "object", "properties": {"celsius": {"type": "number"}}}
PNG = {"type": "image", "data": "iVBORw0", "mimeType": "image/png"}


class Context:
    """Keeps the warnings; `s3cr3t` is masked."""

    name = "Tools"
    folder = Path()

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def log(self, message: str) -> None:
        pass

    def mask(self, text: str) -> str:
        return text.replace("s3cr3t", "***")

    def evaluate(self, value: Any, scope: Any) -> Any:
        return value


class Listed:
    """A client with these tools, whose calls give this result."""

    name = "Server"
    server = None
    tools_generation = 0

    def __init__(self, tools: list[Any], result: Any = None) -> None:
        self.tools = tools
        self.result = result
        self.calls: list[tuple[str, Any]] = []

    async def list_tools(self) -> list[Any]:
        return self.tools

    async def call_tool(self, name: str, arguments: Any, *, timeout_ms: int | None = None) -> Any:
        self.calls.append((name, dict(arguments)))
        return self.result

    async def request(self, method: str, params: Any = None) -> Any:
        raise NotImplementedError


async def list_tools(*tools: Any) -> tuple[list[Tool], list[str]]:
    context = Context()
    async with McpToolProvider(client=Listed(list(tools))).open(context) as provider:
        return list(await provider.list_tools()), context.warnings


async def translate(result: Any, results: str = "structured", schema: Any = None) -> ToolResult:
    tool = {"name": "t", "inputSchema": SCHEMA, "outputSchema": schema}
    async with McpToolProvider(client=Listed([tool], result), results=results).open(Context()) as provider:
        await provider.list_tools()
        return await provider.call_tool("t", {})


async def fault(result: Any, schema: Any = None) -> tuple[str, str]:
    with pytest.raises(McpError) as caught:
        await translate(result, schema=schema)
    assert caught.value.resource == "Server"
    return caught.value.code, caught.value.message


async def test_a_tool_keeps_its_schema_untouched():
    schema = {**SCHEMA, "$defs": {"a": {"$anchor": "b"}}, "x-vendor": 1}
    tools, warnings = await list_tools(
        {"name": "t", "description": "d", "inputSchema": schema, "annotations": {"readOnlyHint": True}, "title": None}
    )

    assert tools == [Tool("t", "d", schema, {"readOnlyHint": True})]
    assert tools[0].parameters is schema
    assert warnings == []


@pytest.mark.parametrize("description", [None, 7, ""])
async def test_a_tool_without_a_description_is_listed(description):
    tools, _ = await list_tools({"name": "t", "description": description, "inputSchema": SCHEMA})

    assert tools == [Tool("t", "", SCHEMA)]


@pytest.mark.parametrize("schema", [None, "object", True, [SCHEMA]])
async def test_a_schema_that_is_no_object_takes_any_object(schema):
    tools, warnings = await list_tools({"name": "t", "inputSchema": schema})

    assert tools == [Tool("t", "", {"type": "object", "properties": {}})]
    assert warnings == ['the tool "t" has no schema of its input; it is offered as taking any object']


async def test_the_list_is_the_same_object_until_the_server_changes_it():
    client = Listed([{"name": "t", "inputSchema": SCHEMA}])
    async with McpToolProvider(client=client).open(Context()) as provider:
        first = await provider.list_tools()
        again = await provider.list_tools()
        client.tools = [{"name": "u", "inputSchema": SCHEMA}]
        changed = await provider.list_tools()

    assert first is again
    assert [tool.name for tool in changed] == ["u"]


async def test_hidden_characters_are_removed_and_calls_go_by_the_real_name():
    raw = "re\u200bad\u202e"
    schema = {"type": "object", "properties": {"a\U000e0041": {"description": "x\u2066y"}}}
    client = Listed([{"name": raw, "description": "a\x1b[2Kb\u202ec\r\nd", "inputSchema": schema}], {"content": []})
    context = Context()
    async with McpToolProvider(client=client).open(context) as provider:
        tools = await provider.list_tools()
        await provider.call_tool("read", {"x": 1})

    assert tools == [Tool("read", "a[2Kbc\nd", {"type": "object", "properties": {"a": {"description": "xy"}}})]
    assert client.calls == [(raw, {"x": 1})]
    assert len(context.warnings) == 3


async def test_two_names_that_look_the_same_are_one_tool():
    tools, warnings = await list_tools({"name": "a", "inputSchema": SCHEMA}, {"name": "a\u200b", "inputSchema": SCHEMA})

    assert [tool.name for tool in tools] == ["a"]
    assert warnings[-1] == 'two tools are called "a" once hidden characters are gone; one is left out'


async def test_what_is_too_large_for_a_model_is_cut_or_left_out():
    tools, warnings = await list_tools(
        {"name": "long", "description": "word " * 10_000, "inputSchema": SCHEMA},
        {"name": "huge", "inputSchema": {"enum": [f"value-{number}" for number in range(50_000)]}},
    )

    assert [(tool.name, len(tool.description)) for tool in tools] == [("long", 16384)]
    assert warnings == [
        'the description of the tool "long" is cut to 16384 characters',
        'the tool "huge" is left out: its schema has more than 262144 bytes',
    ]


async def test_text_and_images_become_parts():
    result = await translate({"content": [{"type": "text", "text": "a", "annotations": {"x": 1}}, PNG]})

    assert result == ToolResult([Text("a"), Image("iVBORw0", "image/png")])


@pytest.mark.parametrize("result", [{"content": []}, {"content": None}, {}, {"content": [], "structuredContent": None}])
async def test_nothing_is_an_empty_result(result):
    assert await translate(result) == ToolResult([])


@pytest.mark.parametrize(
    "block",
    [
        {"type": "hologram", "wavelength": 532},
        {"type": "audio", "data": "UklG", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "https://example.invalid/x", "name": "x", "description": "d"},
        {"type": "resource", "resource": {"uri": "mem://a", "text": "inner"}},
        {"type": "resource", "resource": {"uri": "mem://b", "blob": "AAAA"}},
    ],
)
async def test_a_result_with_any_other_block_is_passed_through_whole(block):
    raw = {"content": [{"type": "text", "text": "a"}, block, PNG], "_meta": {"k": 1}}

    assert await translate(raw) == ToolResult(raw)


@pytest.mark.parametrize("value", [{"n": 3}, {}, [1, 2], 7, "text", False])
async def test_structured_content_wins_and_the_rest_goes_into_the_trace(value):
    blocks = [{"type": "text", "text": "zero rows"}, PNG]

    assert await translate({"content": blocks, "structuredContent": value}) == ToolResult(value, blocks)


async def test_both_hands_images_beside_structured_content():
    text = {"type": "text", "text": "same as json"}
    with_image = await translate({"content": [text, PNG], "structuredContent": {"n": 3}}, "both")
    with_text = await translate({"content": [text], "structuredContent": {"n": 3}}, "both")
    link = {"type": "resource_link", "uri": "x:y"}
    with_other = await translate({"content": [text, link, PNG], "structuredContent": {"n": 3}}, "both")

    assert with_image == ToolResult([Text('{"n":3}'), Image("iVBORw0", "image/png")], [text])
    assert with_text == ToolResult({"n": 3}, [text])
    assert with_other == ToolResult({"structuredContent": {"n": 3}, "content": [link, PNG]}, [text])


async def test_structured_content_that_breaks_its_own_schema_is_told_with_the_content():
    raw = {"content": [], "structuredContent": {"celsius": "hot", "key": "s3cr3t"}}

    code, message = await fault(raw, CELSIUS)
    assert code == "ERR_MCP_PROTOCOL"
    assert message.startswith('the result of the tool "t" is unusable: it does not fit the tool\'s own output schema')
    assert message.endswith('/celsius: must be a number, found "hot"; it was {"celsius":"hot","key":"***"}')

    _, message = await fault({"content": [], "structuredContent": {"celsius": "very s3cr3t" + "." * 100}}, CELSIUS)
    assert "s3cr3t" not in message
    assert "must be a number" in message


@pytest.mark.parametrize(
    "raw, words",
    [
        ({"content": [{"type": "text", "text": "no such table: users"}]}, "no such table: users"),
        ({"content": [{"type": "text", "text": "a s3cr3t\x1b[1m"}, {"type": "text", "text": "b"}]}, "a ***[1m\nb"),
        ({"content": [PNG, {"type": "hologram"}]}, '[Image: image/png]\n{"type":"hologram"}'),
        ({"content": [], "structuredContent": {"why": 1}}, '{"why":1}'),
        ({"content": []}, 'the tool "t" failed and did not say why'),
    ],
)
async def test_a_tool_error_carries_the_servers_own_words(raw, words):
    assert await fault({**raw, "isError": True}) == ("ERR_MCP_TOOL_ERROR", words)


@pytest.mark.parametrize(
    "content, what",
    [
        ("text", "its content is no list"),
        ([{"type": "text"}], "one of its text blocks has no text"),
        ([{"type": "text", "text": 7}], "one of its text blocks has no text"),
        ([{"type": "image", "data": "x"}], "one of its image blocks lacks data or mimeType"),
        ([{"text": "x"}], "one of its blocks has no type"),
        ([None], "one of its blocks has no type"),
    ],
)
async def test_a_malformed_block_is_an_error_that_names_the_tool(content, what):
    assert await fault({"content": content}) == (
        "ERR_MCP_PROTOCOL",
        f'the result of the tool "t" is unusable: {what}',
    )


def nest(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"properties": value}
    return value


async def test_what_is_nested_without_end_is_left_out_or_an_error():
    tools, warnings = await list_tools(
        {"name": "deep", "inputSchema": nest(200)}, {"name": "t", "inputSchema": nest(100)}
    )

    assert [tool.name for tool in tools] == ["t"]
    assert warnings == ['the tool "deep" is left out: its schema is nested more than 128 deep']
    assert await fault({"structuredContent": nest(200)}) == (
        "ERR_MCP_PROTOCOL",
        'the result of the tool "t" is unusable: it is nested more than 128 deep',
    )


async def test_a_tool_whose_name_holds_a_secret_is_left_out():
    tools, warnings = await list_tools({"name": "get-s3cr3t", "inputSchema": SCHEMA})

    assert (tools, warnings) == ([], ["a tool whose name holds a secret of ours is left out"])


async def test_our_secrets_do_not_come_back_to_the_model():
    text = await translate({"content": [{"type": "text", "text": "token s3cr3t"}]})
    structured = await translate({"content": [], "structuredContent": {"env": ["s3cr3t"]}})
    whole = await translate({"content": [{"type": "hologram", "s3cr3t": "s3cr3t"}]})
    tools, _ = await list_tools({"name": "t", "description": "uses s3cr3t", "inputSchema": {"default": "s3cr3t"}})

    assert text == ToolResult([Text("token ***")])
    assert structured == ToolResult({"env": ["***"]}, [])
    assert whole == ToolResult({"content": [{"type": "hologram", "***": "***"}]})
    assert tools == [Tool("t", "uses ***", {"default": "***"})]
