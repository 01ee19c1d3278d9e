"""Under which names MCP's tools are offered: the live bridge and what is known from a lock go by the same rules."""

from collections.abc import Sequence

from runtime.known_tools import KnownTool


def clean_name(name: str) -> str:
    """A tool's name without the characters that nobody sees; empty where nothing is left."""
    if name.isascii() and name.isprintable():
        return name.strip()
    from runtime.mcp.quoting import remove_controls

    return remove_controls(name).strip()


def server_prefix(server: str, lifetime: str) -> str:
    """What stands before a tool's name in a set of servers: `mcp__server__`, or `server__` for `lifetime: run`."""
    return f"{server}__" if lifetime == "run" else f"mcp__{server}__"


def name_tools(tools: Sequence[KnownTool], prefix: str = "") -> list[KnownTool]:
    """Tools as the bridge will list them; of those that look alike once they are cleaned, the first."""
    named: dict[str, KnownTool] = {}
    for tool in tools:
        name = clean_name(tool.name)
        if name:
            named.setdefault(name, tool if name == tool.name and not prefix else tool.named(prefix + name))
    return list(named.values())
