"""What a lock holds: per client the server that answered and its tools."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

LAYOUT = 1
"""The `version` of the file's layout."""

FIELDS = ("title", "description", "inputSchema", "outputSchema", "annotations", "execution")
"""What is locked of a tool beside its name: the fields of `Tool` (MCP 2025-11-25, server/tools) that say what it does.

`icons` show it to people and `_meta` may differ from one listing to the next.
"""


class LockError(Exception):
    """A lock that cannot be read: the line at fault, counted from 1, and why."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class LockedTool:
    """A tool by its name as the server spells it.

    `digest` is the SHA-256 of the tool's canonical JSON. `lossy_for` are the tool formats of `runtime.ai.formats` that
    cannot express its schema in full, as the runtime found that wrote the lock. `fields` are read when they are asked
    for, since a check of a manifest needs hardly any of them. Of a tool that `is_abridged` the lock keeps the digest
    alone, for the tool is too large to be reviewed.
    """

    __slots__ = ("_fields", "_read", "digest", "is_abridged", "lossy_for", "name")

    def __init__(
        self, name: str, digest: str, lossy_for: tuple[str, ...], read: Callable[[], Mapping[str, Any]]
    ) -> None:
        self.name = name
        self.digest = digest
        self.lossy_for = lossy_for
        self.is_abridged = False
        self._read = read
        self._fields: Mapping[str, Any] | None = None

    @property
    def fields(self) -> Mapping[str, Any]:
        """Those of `FIELDS` that the server sent. Raises LockError where the file was tampered with."""
        if self._fields is None:
            self._fields = self._read()
        return self._fields


class LockedServer(Struct, frozen=True):
    """The server behind one client. `definition` is the digest of the client's fields in the manifest."""

    definition: str
    name: str
    version: str
    protocol: str
    tools: Mapping[str, LockedTool]


class Lock(Struct, frozen=True):
    """A lock file: servers by the key of their client, sorted; `runtime` is the version that wrote it."""

    path: str
    runtime: str
    servers: Mapping[str, LockedServer]
