"""The text of a lock file back to a lock.

Only the lines that name clients and tools are looked at: reading all of a large lock as YAML would take longer than
everything else that `validate` does. A tool's own lines are read as YAML when its fields are asked for. This relies on
the layout that `runtime.lock.writer` gives the file; any other is refused, for the file is not to be edited.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from runtime.lock.contents import FIELDS, LAYOUT, LOCK_NAME, Lock, LockedServer, LockedTool, LockError

_HEAD = re.compile(r'(?:#.*\n)*version: (.*)\nruntime: "(.*)"\nclients:(?: \{\}\n)?')
_SERVER = re.compile(
    r'([0-9a-f]{64})\n    server: (".*")\n    serverVersion: (".*")\n    protocol: (".*")\n    tools:(?: \{\})?'
)
_TOOL = re.compile(r"([0-9a-f]{64})\n(?:        lossyFor: \[(.*)\]\n)?")

# Neither can stand anywhere else: what describes a tool is indented by eight blanks and more, and none of the fields
# that stand at eight has that name.
_CLIENT_MARK = "\n    definition: "
_TOOL_MARK = "\n        sha256: "
_CONFLICT = "\n<<<<<<< "


def read_lock(path: str) -> Lock | None:
    """The lock at a path, None where there is none.

    Raises LockError for what is no lock or cannot be read, with the first line that is not as it should be.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise LockError(1, "it is not UTF-8") from error
    except OSError as error:
        raise LockError(1, f"it cannot be read: {(error.strerror or 'unknown').lower()}") from error
    return parse_lock(text, path)


def parse_lock(text: str, path: str = LOCK_NAME) -> Lock:
    """The lock that a text holds. Raises LockError."""
    if _CONFLICT in text:
        _fail(text, text.index(_CONFLICT) + 1, "a merge left its conflict here")
    head = _HEAD.match(text)
    if head is None:
        _fail(text, 0, "it does not start as a lock does")
    if head[1] != str(LAYOUT):
        raise LockError(text.count("\n", 0, head.start(1)) + 1, f"its version is {head[1]}, and {LAYOUT} is known")
    servers: dict[str, LockedServer] = {}
    chunks = text.split(_CLIENT_MARK)
    key = _take_key(chunks[0], head.end(), "  ", text, 0) if len(chunks) > 1 else None
    at = len(chunks[0])
    for index, chunk in enumerate(chunks[1:], 2):
        at += len(_CLIENT_MARK)
        following = _take_key(chunk, 0, "  ", text, at) if index < len(chunks) else None
        end = at + (following[1] if following is not None else len(chunk))
        servers[str(key and key[0])] = _read_server(text, at, end)
        key, at = following, at + len(chunk)
    return Lock(path, head[2], servers)


def _read_server(text: str, start: int, end: int) -> LockedServer:
    """The server whose lines these are, without the key and `definition:` that they follow."""
    head = _SERVER.match(text, start, end)
    if head is None:
        _fail(text, start, "the client is not described as a lock does it")
    tools: dict[str, LockedTool] = {}
    chunks = text[head.end() : end].split(_TOOL_MARK)
    key = _take_key(chunks[0], 0, "      ", text, head.end()) if len(chunks) > 1 else None
    at = head.end() + len(chunks[0])
    for index, chunk in enumerate(chunks[1:], 2):
        at += len(_TOOL_MARK)
        following = _take_key(chunk, 0, "      ", text, at) if index < len(chunks) else None
        stop = at + (following[1] if following is not None else len(chunk))
        name = str(key and key[0])
        tools[name] = _read_tool(name, text, at, stop)
        key, at = following, at + len(chunk)
    return LockedServer(head[1], _unquote(head[2]), _unquote(head[3]), _unquote(head[4]), tools)


def _read_tool(name: str, text: str, start: int, end: int) -> LockedTool:
    """The tool whose lines these are, without the key and `sha256:` that they follow."""
    head = _TOOL.match(text, start, end)
    if head is None:
        _fail(text, start, f'the digest of the tool "{name}" is none')
    return LockedTool(name, head[1], tuple(head[2].split(", ")) if head[2] else (), _reader(text, head.end(), end))


def _take_key(chunk: str, least: int, indent: str, text: str, offset: int) -> tuple[str, int]:
    """The key on the last line of a chunk, and where that line starts in it. `offset` is the chunk's own place."""
    start = chunk.rfind("\n") + 1
    line = chunk[start:]
    if start < least or not line.startswith(indent) or line[len(indent) : len(indent) + 1] == " " or line[-1] != ":":
        _fail(text, offset + start, "a name is expected here")
    return _unquote(line[len(indent) : -1]), start


def _fail(text: str, place: int, message: str) -> NoReturn:
    raise LockError(text.count("\n", 0, place) + 1, message)


def _reader(text: str, start: int, end: int) -> Callable[[], Mapping[str, Any]]:
    return lambda: _read_fields(text, start, end)


def _read_fields(text: str, start: int, end: int) -> Mapping[str, Any]:
    """The fields of one tool, whose lines these are."""
    if not text[start:end].strip():
        return {}
    fields = _load(text[start:end], text.count("\n", 0, start))
    return {field: value for field, value in fields.items() if field in FIELDS}


def _unquote(text: str) -> str:
    if not text.startswith('"'):
        return text
    return text[1:-1] if "\\" not in text else str(_load(f"text: {text}", 0)["text"])


def _load(text: str, lines_above: int) -> dict[str, Any]:
    """The mapping that a piece of YAML holds."""
    from runtime.manifest import Source, load

    loaded = load(Source(LOCK_NAME, text.encode("utf-8", "surrogatepass"), ""))
    fault = next((found for found in loaded.diagnostics if found.code.startswith("YAML_")), None)
    if fault is not None or len(loaded.documents) != 1:
        line = fault.line if fault is not None else 1
        raise LockError(lines_above + line, fault.message if fault is not None else "it describes no tool")
    value: dict[str, Any] = _plain(loaded.documents[0].body)
    return value


def _plain(value: Any) -> Any:
    """The value without the places that the loader keeps."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
