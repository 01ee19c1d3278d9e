"""The text of a lock: any tool goes in and comes out the same, by our reader and by any YAML parser."""

from functools import partial
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.lock.contents import FIELDS, Lock, LockedServer, LockedTool, LockError
from runtime.lock.digest import digest_tool
from runtime.lock.reader import parse_lock
from runtime.lock.writer import lock_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200) | st.text(" \n\tab.:#-'\"\\", max_size=40)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=12)
TOOLS = st.dictionaries(
    TEXTS.filter(bool), st.fixed_dictionaries({}, optional={"description": TEXTS, "inputSchema": VALUES})
)


def lock_of(tools: dict[str, Any]) -> Lock:
    locked = {
        name: LockedTool(name, digest_tool(name, fields), (), partial(dict, fields)) for name, fields in tools.items()
    }
    return Lock("runtime.lock", "0.1.0", {"Files": LockedServer("a" * 64, "files", "1.0: #1", "2025-11-25", locked)})


@given(TOOLS)
@example(
    {"a": {"description": "One.\n\n    Args:\n        x: y\n    "}, "yes": {"inputSchema": {"null": [[], {}, "no"]}}}
)
@example({"<<": {"inputSchema": {"<<": {"a": 1}, "${{ x }}": "${{ y }}", "? ": "!ref x", "k" * 2000: 1.0}}})
@example({"a": {"description": "First sentence of a text that is long. Second one; third? " * 4 + "End"}})
@settings(max_examples=120, deadline=None)
def test_any_tool_is_read_back_as_it_was(tools: dict[str, Any]) -> None:
    text = lock_text(lock_of(tools))

    [server] = parse_lock(text).servers.values()
    plain = yaml.safe_load(text)["clients"]["Files"]["tools"]

    assert {name: dict(tool.fields) for name, tool in server.tools.items()} == tools
    assert {
        name: {key: value for key, value in tool.items() if key != "sha256"} for name, tool in plain.items()
    } == tools
    assert all(digest_tool(tool.name, tool.fields) == tool.digest for tool in server.tools.values())
    assert lock_text(parse_lock(text)) == text


DAMAGED = lock_of({"a": {"description": "One.\nTwo."}, "b c": {"inputSchema": {"type": "object", "x": [1, {}]}}})
DAMAGED.servers["Files"].tools["a"].lossy_for = ("anthropic", "openai")
GOOD = lock_text(DAMAGED)


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_a_damaged_lock_is_refused_with_a_line_or_read(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(GOOD)))
    end = data.draw(st.integers(start, min(len(GOOD), start + 80)))
    text = GOOD[:start] + data.draw(st.text('\n :"\\#{}[]&*!-ab0', max_size=12)) + GOOD[end:]

    try:
        for server in parse_lock(text).servers.values():
            for tool in server.tools.values():
                assert tool.fields.keys() <= {*FIELDS}
    except LockError as error:
        assert 1 <= error.line <= text.count("\n") + 2
