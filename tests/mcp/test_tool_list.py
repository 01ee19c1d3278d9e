"""All pages of `tools/list`, and what is wrong with single tools."""

import pytest

from runtime.errors import McpError
from runtime.mcp import tool_list
from runtime.mcp.tool_list import describe_changes, fetch_tools

pytestmark = pytest.mark.anyio


async def fetch(*pages, received=(0, 0), has_param_headers=False):
    """The names listed and the warnings, for these answers in order."""
    asked, warnings = [], []
    counts = list(received)

    async def answer(params):
        asked.append(params)
        return pages[min(len(asked), len(pages)) - 1]

    tools = await fetch_tools(
        "S",
        answer,
        lambda: counts.pop(0) if len(counts) > 1 else counts[0],
        warnings.append,
        has_param_headers=has_param_headers,
    )
    return [tool["name"] for tool in tools], asked, warnings


async def test_all_pages_are_read_in_order():
    names, asked, warnings = await fetch(
        {"tools": [{"name": "a"}], "nextCursor": "1"},
        {"tools": [{"name": "b"}], "nextCursor": "2"},
        {"tools": [{"name": "c"}], "nextCursor": None},
    )

    assert names == ["a", "b", "c"]
    assert asked == [{}, {"cursor": "1"}, {"cursor": "2"}]
    assert warnings == []


@pytest.mark.parametrize("cursor", ["same", 7, {"a": 1}])
async def test_a_cursor_that_does_not_move_ends_the_list(cursor):
    names, _, warnings = await fetch({"tools": [{"name": "a"}], "nextCursor": cursor})

    assert names == ["a"]
    assert "the cursor of the listing does not move; what came so far is kept" in warnings


async def test_what_is_no_tool_is_set_aside_with_a_warning_each():
    tools = [7, None, {"description": "x"}, {"name": " "}, {"name": "a"}, {"name": "a", "description": "second"}]
    names, _, warnings = await fetch({"tools": tools})

    assert names == ["a"]
    assert warnings == [
        "an entry of the list of tools is no object; it is left out",
        "an entry of the list of tools is no object; it is left out",
        "a tool without a name is left out",
        "a tool without a name is left out",
        'the tool "a" is listed twice; the first one is kept',
    ]


@pytest.mark.parametrize("page", [{}, {"tools": None}, {"tools": {"a": 1}}])
async def test_a_result_without_a_list_has_no_tools(page):
    assert await fetch(page) == ([], [{}], ["the listing holds no list of tools"])


async def test_a_thousand_faults_are_eleven_warnings():
    _, _, warnings = await fetch({"tools": [None] * 1000})

    assert len(warnings) == 11
    assert warnings[-1] == "990 more faults in the list of tools"


async def test_pages_without_end_are_over_the_limit():
    count = iter(range(1000))

    async def answer(_):
        return {"tools": [], "nextCursor": str(next(count))}

    with pytest.raises(McpError) as caught:
        await fetch_tools("S", answer, lambda: 0, [].append, has_param_headers=False)
    assert (caught.value.code, caught.value.message) == (
        "ERR_MCP_LIMIT",
        "the server lists more than 100 pages of tools",
    )


@pytest.mark.parametrize(
    "pages, received, what",
    [
        ([{"tools": [{"name": str(number)} for number in range(5001)]}], (0, 0), "more than 5000 tools"),
        ([{"tools": []}], (0, tool_list.BYTES_LIMIT + 1), f"more than {tool_list.BYTES_LIMIT} bytes of tools"),
    ],
)
async def test_a_list_that_is_too_long_is_over_the_limit(pages, received, what):
    with pytest.raises(McpError) as caught:
        await fetch(*pages, received=received)

    assert (caught.value.code, caught.value.message) == ("ERR_MCP_LIMIT", f"the server lists {what}")


@pytest.mark.parametrize(
    "schema, fault",
    [
        ({"x-mcp-header": "A"}, "x-mcp-header stands where no plain property is"),
        ({"items": {"x-mcp-header": "A"}}, "x-mcp-header stands where no plain property is"),
        ({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}, 'the x-mcp-header of "a" is no header name'),
        ({"properties": {"a": {"type": "string", "x-mcp-header": 7}}}, 'the x-mcp-header of "a" is no header name'),
        (
            {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
            'x-mcp-header stands at "a", which is no string, integer or boolean',
        ),
        (
            {"properties": {name: {"type": "string", "x-mcp-header": name} for name in ("b", "B")}},
            'the x-mcp-header of "b" is there twice',
        ),
    ],
)
async def test_a_tool_with_invalid_header_annotations_is_left_out_over_modern_http(schema, fault):
    page = {"tools": [{"name": "bad", "inputSchema": schema}, {"name": "good", "inputSchema": {}}]}

    assert await fetch(page, has_param_headers=True) == (["good"], [{}], [f'the tool "bad" is left out: {fault}'])
    assert (await fetch(page))[0] == ["bad", "good"]


def test_changes_are_told_by_name():
    old = [{"name": "a", "description": "x"}, {"name": "b"}, {"name": "c"}]
    new = [{"name": "d"}, {"name": "a", "description": "y"}, {"name": "c"}]

    assert describe_changes(old, new) == 'added "d", removed "b", changed "a"'
    assert describe_changes(old, list(reversed(old))) is None
