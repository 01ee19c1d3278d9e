"""A lock as the text of its file: the same lock gives the same text."""

import os
import tempfile
from collections.abc import Iterator

from runtime.errors import UsageError
from runtime.lock.contents import LAYOUT, Lock, LockedServer, LockedTool
from runtime.yaml_text import quote, write_key, write_mapping

HEAD = (
    '# What the MCP servers of this set offered when "runtime lock" asked them. Commit this file, and do not edit it:\n'
    '# "runtime lock" writes it anew, "runtime lock --check" tells what the servers have changed since.\n'
)
MODE = 0o644


def write_lock(lock: Lock) -> None:
    """Put the lock at its path: whole or not at all, and never through a link. Raises UsageError where it cannot."""
    folder = os.path.dirname(lock.path) or "."
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(lock.path)}.", dir=folder)
        try:
            with open(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(lock_text(lock))
                os.chmod(temporary, MODE)
            os.replace(temporary, lock.path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise UsageError(f'cannot write "{lock.path}": {(error.strerror or "unknown").lower()}') from error


def lock_text(lock: Lock) -> str:
    """The file's text. `runtime.lock.reader` relies on its layout: each tool's name stands at six blanks."""
    return HEAD + "".join(f"{line}\n" for line in _lines(lock))


def _lines(lock: Lock) -> Iterator[str]:
    yield f"version: {LAYOUT}"
    yield f"runtime: {quote(lock.runtime)}"
    yield "clients:" if lock.servers else "clients: {}"
    for key in sorted(lock.servers):
        yield f"  {write_key(key)}:"
        yield from _server_lines(lock.servers[key])


def _server_lines(server: LockedServer) -> Iterator[str]:
    yield f"    definition: {server.definition}"
    yield f"    server: {quote(server.name)}"
    yield f"    serverVersion: {quote(server.version)}"
    yield f"    protocol: {quote(server.protocol)}"
    yield "    tools:" if server.tools else "    tools: {}"
    for name in sorted(server.tools):
        yield f"      {write_key(name)}:"
        yield from _tool_lines(server.tools[name])


def _tool_lines(tool: LockedTool) -> Iterator[str]:
    yield f"        sha256: {tool.digest}"
    if tool.lossy_for:
        yield f"        lossyFor: [{', '.join(tool.lossy_for)}]"
    if tool.is_abridged:
        yield "        abridged: true"
    else:
        yield from write_mapping(tool.fields, 8)
