"""What a server lists, live, in the form of a lock."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from runtime.errors import McpError
from runtime.lock.contents import FIELDS, LockedServer, LockedTool
from runtime.lock.digest import digest_tool
from runtime.masking import Masker, mask_json
from runtime.mcp.contracts import ServerInfo
from runtime.yaml_text import LONGEST_KEY, quote

DEEPEST = 90
"""Levels of a tool that is kept whole; a YAML document of ours has at most 100."""
LONGEST = 100_000
"""Bytes of such a tool as JSON; as YAML it may take several times as many, and a document of ours has 1 MiB."""


def lock_server(
    client: str, definition: str, info: ServerInfo, listed: Sequence[Mapping[str, Any]], masker: Masker
) -> LockedServer:
    """The lock's entry for a server that is there.

    Raises McpError ERR_MCP_LIMIT for a tool with a name that YAML cannot have as a key.
    """
    tools = lock_tools(listed, masker)
    for tool in tools.values():
        if len(quote(tool.name)) > LONGEST_KEY:
            message = f'the tool "{tool.name[:80]}…" cannot be locked: its name is too long'
            raise McpError(message, code="ERR_MCP_LIMIT", resource=client)
        tool.lossy_for = _find_lossy_formats(tool.fields)
        tool.is_abridged = _is_too_large(tool)
    return LockedServer(definition, masker(info.name), masker(info.version), info.protocol_version, tools)


def lock_tools(listed: Sequence[Mapping[str, Any]], masker: Masker) -> dict[str, LockedTool]:
    """The tools of a listing by name, without what the schemas lose in which format.

    Values of secrets that a server sends back are masked first, so that no digest is of a secret either.
    """
    tools = {}
    for raw in listed:
        fields = mask_json({field: raw[field] for field in FIELDS if field in raw}, masker)
        name = masker(raw["name"])
        tools[name] = LockedTool(name, digest_tool(name, fields), (), partial(_same, fields))
    return tools


def _same(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return fields


def _find_lossy_formats(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The tool formats that cannot express the schema of a tool's arguments in full, sorted."""
    from runtime.ai.losses import find_lossy_formats

    schema = fields.get("inputSchema")
    return tuple(sorted(find_lossy_formats(schema))) if isinstance(schema, dict) else ()


def _is_too_large(tool: LockedTool) -> bool:
    return len(msgspec.json.encode(tool.fields)) > LONGEST or _depth(dict(tool.fields)) > DEEPEST


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        items = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))]
        level = [item for group in items for item in group]
    return depth
