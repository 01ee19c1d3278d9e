"""What a server lists, as the lock keeps it."""

from typing import Any

import pytest

from runtime.errors import McpError
from runtime.lock.comparison import compare_tools, find_edits, state
from runtime.lock.contents import Lock, LockedServer
from runtime.lock.listing import lock_server, lock_tools
from runtime.lock.reader import parse_lock
from runtime.lock.writer import lock_text
from runtime.masking import Masker
from runtime.mcp.contracts import ServerInfo

INFO = ServerInfo("files", "1.0.0", "2025-11-25", {})
EMPTY = {"type": "object", "properties": {}}


def lock(*tools: dict[str, Any]) -> LockedServer:
    return lock_server("Files", "0" * 64, INFO, tools, Masker())


def again(server: LockedServer) -> LockedServer:
    return parse_lock(lock_text(Lock("runtime.lock", "0.1.0", {"Files": server}))).servers["Files"]


def test_a_digest_is_that_of_the_canonical_json_of_name_and_fields() -> None:
    [tool] = lock(
        {"inputSchema": {"b": 1.0, "a": [1e21, "é"]}, "name": "x", "_meta": {"at": 1}, "icons": []}
    ).tools.values()

    # the SHA-256 of {"inputSchema":{"a":[1e+21,"é"],"b":1},"name":"x"}, made by sha256sum
    assert tool.digest == "452b55f38e01ca8068205cf2b1f2b0cfd73029f30de20be42a7dd1fc8569504f"


def test_numbers_beyond_doubles_are_locked_as_the_doubles_next_to_them() -> None:
    first, second, third = (
        lock({"name": "x", "inputSchema": {**EMPTY, "maximum": number}}).tools["x"].digest
        for number in (18446744073709551615, 18446744073709551615.0, 10**400)
    )

    assert first == second != third


def test_formats_that_lose_something_are_named() -> None:
    pattern = {"type": "object", "properties": {"id": {"type": "string", "pattern": "^(?=.*a)b"}}}

    server = again(lock({"name": "find", "inputSchema": pattern}, {"name": "plain", "inputSchema": EMPTY}))

    assert server.tools["plain"].lossy_for == ()
    assert "openai" in server.tools["find"].lossy_for


def test_a_tool_too_large_to_review_is_kept_by_its_digest_alone() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"properties": {"x": deep}}
    old = again(lock({"name": "long", "description": "x" * 200_000}, {"name": "deep", "inputSchema": deep}))
    new = lock({"name": "long", "description": "y" * 200_000}, {"name": "deep", "inputSchema": deep})

    assert [(tool.is_abridged, dict(tool.fields)) for tool in old.tools.values()] == [(True, {}), (True, {})]
    [found] = compare_tools("Files", old.tools, new.tools)
    assert (found.tool, found.field, found.old) == ("long", "sha256", old.tools["long"].digest)
    assert list(find_edits({"Files": old})) == []


def test_a_name_that_yaml_cannot_have_as_a_key_is_refused() -> None:
    with pytest.raises(McpError) as caught:
        lock({"name": "x" * 2000, "inputSchema": EMPTY})

    assert (caught.value.code, caught.value.resource) == ("ERR_MCP_LIMIT", "Files")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"description": "a"}, {"description": "b"}, 'description has changed, from "a" to "b"'),
        ({"description": "a"}, {}, 'description has changed, from "a" to nothing'),
        ({"inputSchema": {"a": 1}}, {"inputSchema": {"a": True}}, "inputSchema.a has changed, from 1 to true"),
        (
            {"inputSchema": {"anyOf": [{"type": "a"}, {"type": "b"}]}},
            {"inputSchema": {"anyOf": [{"type": "a"}, {"type": "c"}]}},
            'inputSchema.anyOf[1].type has changed, from "b" to "c"',
        ),
        (
            {"inputSchema": {"required": ["a"]}},
            {"inputSchema": {"required": ["a", "b"]}},
            'inputSchema.required has changed, from ["a"] to ["a","b"]',
        ),
        (
            {"description": "x" * 100 + "y" + "z" * 100},
            {"description": "x" * 100 + "\u200b" + "z" * 100},
            f"description has changed, from …{'x' * 20}y{'z' * 59}… to …{'x' * 20}\\u200b{'z' * 54}…",
        ),
        ({"annotations": None}, {}, "annotations has changed, from null to nothing"),
    ],
)
def test_a_difference_names_the_field_and_shows_where_it_begins(
    old: dict[str, Any], new: dict[str, Any], told: str
) -> None:
    before, after = (lock_tools([{"name": "x", **fields}], Masker()) for fields in (old, new))

    [found] = compare_tools("Files", before, after)

    assert state(found) == f'the tool "x": {told}'
