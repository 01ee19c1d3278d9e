"""What differs between two states of the same servers: which tool, which field, what it was, what it is."""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct

from runtime.lock.contents import LockedServer, LockedTool
from runtime.lock.digest import digest_tool
from runtime.yaml_text import quote, reveal

SHOWN = 160
"""Characters of a value that a line of text shows, a quarter of them before the first that differs."""


class Difference(Struct, frozen=True):
    """One difference. `tool` is empty where it is the client's or the server's, `field` where all of it came or went.

    `edited` is a tool whose lines in the lock are not those that its digest there was made of.
    `field` is the way to the value, such as `inputSchema.properties.path.description`; `old` or `new` is missing where
    there was or is none.
    """

    client: str
    change: Literal["added", "removed", "changed", "edited"]
    tool: str = ""
    field: str = ""
    old: Any = UNSET
    new: Any = UNSET

    def as_data(self) -> dict[str, Any]:
        """The difference as JSON has it."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data


def compare_locks(old: Mapping[str, LockedServer], new: Mapping[str, LockedServer]) -> list[Difference]:
    """All that differs between two locks, in the order of clients and tools. Raises LockError."""
    found: list[Difference] = []
    for client in sorted({*old, *new}):
        if client not in new:
            found.append(Difference(client, "removed"))
        elif client not in old:
            found.append(Difference(client, "added"))
        else:
            found += compare_servers(client, old[client], new[client])
    return found


def compare_servers(client: str, old: LockedServer, new: LockedServer) -> Iterator[Difference]:
    """What differs between two entries of one client: its definition, the server, the tools. Raises LockError."""
    fields = (
        ("definition", old.definition, new.definition),
        ("server", old.name, new.name),
        ("serverVersion", old.version, new.version),
        ("protocol", old.protocol, new.protocol),
    )
    for field, before, after in fields:
        if before != after:
            yield Difference(client, "changed", "", field, before, after)
    yield from compare_tools(client, old.tools, new.tools)


def compare_tools(client: str, old: Mapping[str, LockedTool], new: Mapping[str, LockedTool]) -> Iterator[Difference]:
    """What differs between two lists of tools. Raises LockError."""
    for name in sorted({*old, *new}):
        if name not in new:
            yield Difference(client, "removed", name)
        elif name not in old:
            yield Difference(client, "added", name)
        elif old[name].digest != new[name].digest:
            whole = not old[name].is_abridged and not new[name].is_abridged
            fields = list(_compare(old[name].fields, new[name].fields, "")) if whole else []
            for field, before, after in fields or [("sha256", old[name].digest, new[name].digest)]:
                yield Difference(client, "changed", name, field, before, after)


def find_edits(servers: Mapping[str, LockedServer]) -> Iterator[Difference]:
    """The tools of a lock that were edited by hand. Raises LockError."""
    for client, server in servers.items():
        for tool in server.tools.values():
            if not tool.is_abridged and digest_tool(tool.name, tool.fields) != tool.digest:
                yield Difference(client, "edited", tool.name)


def _compare(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            below = f"{path}.{key}" if path else key
            if key in old and key in new:
                yield from _compare(old[key], new[key], below)
            else:
                yield below, old.get(key, UNSET), new.get(key, UNSET)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and _has_parts(old, new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _compare(before, after, f"{path}[{index}]")
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield path, old, new


def _has_parts(*lists: list[Any]) -> bool:
    return any(isinstance(item, (Mapping, list)) for items in lists for item in items)


def describe(found: Difference) -> list[str]:
    """A difference in lines: the tool and the field, then what was and what is."""
    if not found.tool and not found.field:
        return [f"{found.client} {_CLIENTS[found.change]}"]
    lines = [f"{found.client}: {_name(found)}"]
    if found.field and found.field != "definition":
        old, new = _cut_both(found, SHOWN)
        lines += [f"  - {old}", f"  + {new}"]
    return lines


def state(found: Difference) -> str:
    """A difference of a tool on one line, without the client's name."""
    if not found.field:
        return _name(found)
    old, new = _cut_both(found, SHOWN // 2)
    return f"{_name(found)}, from {old} to {new}"


_CLIENTS = {"added": "is not in the lock", "removed": "is in the lock and not in the set"}
_TOOLS = {"added": "is new", "removed": "is gone", "edited": "was edited in the lock", "changed": "has changed"}


def _name(found: Difference) -> str:
    tool = f"the tool {quote(found.tool)}" if found.tool else ""
    if not found.field:
        return f"{tool} {_TOOLS[found.change]}"
    if not tool:
        return (
            "its definition in the manifest has changed"
            if found.field == "definition"
            else f"{found.field} has changed"
        )
    return f"{tool}: {found.field} has changed"


def _cut_both(found: Difference, width: int) -> tuple[str, str]:
    old, new = _shown(found.old), _shown(found.new)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    return _cut(old, same, width), _cut(new, same, width)


def _shown(value: Any) -> str:
    """A value on one line, with escapes for what nobody sees."""
    if value is UNSET:
        return "nothing"
    if isinstance(value, str):
        return quote(value)
    return reveal(msgspec.json.encode(value).decode())


def _cut(text: str, same: int, width: int) -> str:
    """The text around the place from which on it differs."""
    if len(text) <= width:
        return text
    start = max(0, min(same - width // 4, len(text) - width))
    return ("…" if start else "") + text[start : start + width] + ("…" if start + width < len(text) else "")
