"""`tools/list`: all pages, and of each tool only as much trust as it earns."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from runtime.errors import McpError
from runtime.mcp.param_headers import find_header_fault
from runtime.mcp.quoting import quote_line

PAGES_LIMIT = 100
TOOLS_LIMIT = 5000
BYTES_LIMIT = 64 * 1024 * 1024  # of all pages together
WARNINGS_LIMIT = 10  # about single tools of one listing; the rest is counted

Fetch = Callable[[dict[str, Any]], Awaitable[Mapping[str, Any]]]


async def fetch_tools(
    name: str, fetch: Fetch, count_bytes: Callable[[], int], warn: Callable[[str], None], *, has_param_headers: bool
) -> list[Mapping[str, Any]]:
    """The tools of all pages in the server's order, each name once.

    A cursor that repeats ends the listing; what is no tool, or has no name, is set aside with a warning. With
    `has_param_headers` (2026-07-28 over HTTP) a tool whose header annotations are invalid is set aside too, as the
    specification demands. Raises `McpError` ERR_MCP_LIMIT, and whatever `fetch` raises.
    """
    tools: dict[str, Mapping[str, Any]] = {}
    faults: list[str] = []
    cursors: set[str] = set()
    params: dict[str, Any] = {}
    started = count_bytes()
    for _ in range(PAGES_LIMIT):
        page = await fetch(params)
        listed = page.get("tools")
        if type(listed) is not list:
            faults.append("the listing holds no list of tools")
            listed = []
        for tool in listed:
            if fault := find_fault(tool, has_param_headers):
                faults.append(fault)
            elif tool["name"] in tools:
                faults.append(f'the tool "{quote_line(tool["name"], 80)}" is listed twice; the first one is kept')
            else:
                tools[tool["name"]] = tool
        if len(tools) > TOOLS_LIMIT or len(faults) > TOOLS_LIMIT:
            raise limit_error(name, f"more than {TOOLS_LIMIT} tools")
        if count_bytes() - started > BYTES_LIMIT:
            raise limit_error(name, f"more than {BYTES_LIMIT} bytes of tools")
        cursor = page.get("nextCursor")
        if cursor is None or cursor == "":
            break
        if type(cursor) is not str or cursor in cursors:
            faults.append("the cursor of the listing does not move; what came so far is kept")
            break
        cursors.add(cursor)
        params = {"cursor": cursor}
    else:
        raise limit_error(name, f"more than {PAGES_LIMIT} pages of tools")
    for fault in faults[:WARNINGS_LIMIT]:
        warn(fault)
    if len(faults) > WARNINGS_LIMIT:
        warn(f"{len(faults) - WARNINGS_LIMIT} more faults in the list of tools")
    return list(tools.values())


def find_fault(tool: Any, has_param_headers: bool) -> str | None:
    if type(tool) is not dict:
        return "an entry of the list of tools is no object; it is left out"
    name = tool.get("name")
    if type(name) is not str or not name.strip():
        return "a tool without a name is left out"
    if has_param_headers and (fault := find_header_fault(tool.get("inputSchema"))):
        return f'the tool "{quote_line(name, 80)}" is left out: {fault}'
    return None


def limit_error(name: str, what: str) -> McpError:
    return McpError(
        f"the server lists {what}", code="ERR_MCP_LIMIT", resource=name, hint="ask the server's author to list fewer"
    )


def describe_changes(old: list[Mapping[str, Any]], new: list[Mapping[str, Any]]) -> str | None:
    """What differs between two listings, in one line; None when nothing does."""
    before = {tool["name"]: tool for tool in old}
    after = {tool["name"]: tool for tool in new}
    parts = [
        ("added", [name for name in after if name not in before]),
        ("removed", [name for name in before if name not in after]),
        ("changed", [name for name, tool in after.items() if name in before and before[name] != tool]),
    ]
    shown = [f"{verb} {quote_names(names)}" for verb, names in parts if names]
    return ", ".join(shown) or None


def quote_names(names: list[str]) -> str:
    shown = ", ".join(f'"{quote_line(name, 80)}"' for name in names[:10])
    return shown + (f" and {len(names) - 10} more" if len(names) > 10 else "")
