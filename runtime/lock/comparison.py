"""What differs between two states of the same servers: which tool, which field, what it was, what it is."""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, Literal

from msgspec import Struct

from runtime.lock.contents import LockedServer, LockedTool
from runtime.lock.digest import digest_tool

SHOWN = 160
"""Characters of a value that a line of text shows."""
BEFORE = 40
"""How many of them stand before the first character that differs."""


class Difference(Struct, frozen=True):
    """One difference. `tool` is empty where it is the client's or the server's, `field` where all of it came or went.

    `edited` is a tool whose lines in the lock are not those that its digest there was made of.
    `field` is the way to the value, such as `inputSchema.properties.path.description`.
    """

    client: str
    change: Literal["added", "removed", "changed", "edited"]
    tool: str = ""
    field: str = ""
    old: Any = None
    new: Any = None


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
            fields = list(_compare(old[name].fields, new[name].fields, ""))
            for field, before, after in fields or [("sha256", old[name].digest, new[name].digest)]:
                yield Difference(client, "changed", name, field, before, after)


def find_edits(servers: Mapping[str, LockedServer]) -> Iterator[Difference]:
    """The tools of a lock that were edited by hand. Raises LockError."""
    for client, server in servers.items():
        for tool in server.tools.values():
            if digest_tool(tool.name, tool.fields) != tool.digest:
                yield Difference(client, "edited", tool.name)


def _compare(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            below = f"{path}.{key}" if path else key
            if key in old and key in new:
                yield from _compare(old[key], new[key], below)
            else:
                yield below, old.get(key), new.get(key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and _has_parts(old, new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _compare(before, after, f"{path}[{index}]")
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield path, old, new


def _has_parts(*lists: list[Any]) -> bool:
    return any(isinstance(item, (Mapping, list)) for items in lists for item in items)


def describe(found: Difference) -> list[str]:
    """A difference in words: a line that names the tool and the field, then what was and what is."""
    where = f'{found.client}: the tool "{found.tool}"' if found.tool else found.client
    if not found.field:
        return [f"{where} {_HAPPENED[found.change] if found.tool else _HAPPENED_TO_CLIENT[found.change]}"]
    if found.field == "definition":
        return [f"{where}: its definition in the manifest has changed"]
    old, new = _shown(found.old), _shown(found.new)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    return [f"{where}: {found.field} has changed", f"  - {_cut(old, same)}", f"  + {_cut(new, same)}"]


_HAPPENED = {"added": "is new", "removed": "is gone", "edited": "was edited in the lock"}
_HAPPENED_TO_CLIENT = {"added": "is not in the lock", "removed": "is in the lock and not in the set"}


def _shown(value: Any) -> str:
    from runtime.lock.yaml_text import quote

    if value is None:
        return "nothing"
    if isinstance(value, str):
        return quote(value)
    import msgspec

    return quote(msgspec.json.encode(value).decode())[1:-1].replace('\\"', '"')


def _cut(text: str, same: int) -> str:
    """The text around the place from which on it differs."""
    if len(text) <= SHOWN:
        return text
    start = max(0, min(same - BEFORE, len(text) - SHOWN))
    cut = text[start : start + SHOWN]
    return ("…" if start else "") + cut + ("…" if start + SHOWN < len(text) else "")
