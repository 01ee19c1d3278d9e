"""The text of a lock file back to a lock.

Only the lines that name clients and tools are looked at: reading all of a large lock as YAML would take longer than
everything else that `validate` does. A tool's own lines are read as YAML when its fields are asked for. This relies on
the layout that `runtime.lock.writer` gives the file; any other is refused, for the file is not to be edited.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

from runtime.lock.contents import FIELDS, LAYOUT, Lock, LockedServer, LockedTool, LockError
from runtime.lock.place import LOCK_NAME

# Neither can stand anywhere else: what describes a tool is indented by eight blanks and more, and none of the fields
# that stand at eight has that name.
_CLIENT_MARK = "\n    definition: "
_TOOL_MARK = "\n        sha256: "
_LOSSY_MARK = "        lossyFor: ["
_ABRIDGED = "        abridged: true\n"
_CONFLICT = "\n<<<<<<< "
_HEX = frozenset("0123456789abcdef")


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
    at = 0
    while text.startswith("#", at):
        at = text.find("\n", at) + 1 or len(text)
    version, at = _take(text, at, "version: ")
    if version != str(LAYOUT):
        _fail(text, at - 1, f"its version is {version}, and {LAYOUT} is known")
    runtime, at = _take(text, at, "runtime: ")
    clients, at = _take(text, at, "clients:")
    chunks = text.split(_CLIENT_MARK)
    if clients != (" {}" if len(chunks) == 1 else ""):
        _fail(text, at - 1, "a list of clients is expected")
    servers: dict[str, LockedServer] = {}
    key = _take_key(chunks[0], at, "  ", text, 0) if len(chunks) > 1 else ("", 0)
    at = len(chunks[0])
    for index, chunk in enumerate(chunks[1:], 2):
        at += len(_CLIENT_MARK)
        following = _take_key(chunk, 0, "  ", text, at) if index < len(chunks) else ("", len(chunk))
        servers[key[0]] = _read_server(text, at, at + following[1])
        key, at = following, at + len(chunk)
    return Lock(path, _unquote(runtime), servers)


def _take(text: str, at: int, start: str) -> tuple[str, int]:
    """What follows the start that the line has to have, and where the next line is."""
    end = text.find("\n", at)
    if end < 0 or not text.startswith(start, at):
        _fail(text, at, f'"{start.strip()}" is expected here')
    return text[at + len(start) : end], end + 1


def _read_server(text: str, start: int, end: int) -> LockedServer:
    """The server whose lines these are, without the key and `definition:` that they follow."""
    definition, at = _take(text, start, "")
    name, at = _take(text, at, "    server: ")
    version, at = _take(text, at, "    serverVersion: ")
    protocol, at = _take(text, at, "    protocol: ")
    at -= 1  # the line end before `tools`, which is the last line where there are none
    chunks = text[at:end].split(_TOOL_MARK)
    if len(chunks) == 1 and chunks[0].rstrip() == "\n    tools: {}":
        chunks = []
    elif len(chunks) == 1 or not chunks[0].startswith("\n    tools:\n"):
        _fail(text, at + 1, "a list of tools is expected here")
    tools: dict[str, LockedTool] = {}
    key = _take_key(chunks[0], 0, "      ", text, at) if chunks else ("", 0)
    at += len(chunks[0]) if chunks else 0
    for index, chunk in enumerate(chunks[1:], 2):
        at += len(_TOOL_MARK)
        following = _take_key(chunk, 0, "      ", text, at) if index < len(chunks) else ("", len(chunk))
        tools[key[0]] = _read_tool(key[0], chunk[:64], text, at, at + following[1])
        key, at = following, at + len(chunk)
    return LockedServer(definition, _unquote(name), _unquote(version), _unquote(protocol), tools)


def _read_tool(name: str, digest: str, text: str, start: int, end: int) -> LockedTool:
    """The tool whose lines these are, without the key and `sha256:` that they follow."""
    if len(digest) < 64 or not _HEX.issuperset(digest):
        _fail(text, start, f'the digest of the tool "{name}" is none')
    start += 65
    lossy: tuple[str, ...] = ()
    if text.startswith(_LOSSY_MARK, start):
        start += len(_LOSSY_MARK)
        stop = text.find("]\n", start, end)
        if stop < 0:
            _fail(text, start, "a list of formats ends here in the middle")
        lossy = tuple(text[start:stop].split(", "))
        start = stop + 2
    tool = LockedTool(name, digest, lossy, partial(_read_fields, text, start, end))
    tool.is_abridged = text.startswith(_ABRIDGED, start)
    return tool


def _take_key(chunk: str, least: int, indent: str, text: str, offset: int) -> tuple[str, int]:
    """The key on the last line of a chunk, and where that line starts in it. `offset` is the chunk's own place."""
    start = chunk.rfind("\n") + 1
    line = chunk[start:]
    if start < least or not line.startswith(indent) or line[len(indent) : len(indent) + 1] == " " or line[-1] != ":":
        _fail(text, offset + start, "a name is expected here")
    return _unquote(line[len(indent) : -1]), start


def _fail(text: str, place: int, message: str) -> NoReturn:
    raise LockError(text.count("\n", 0, place) + 1, message)


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
