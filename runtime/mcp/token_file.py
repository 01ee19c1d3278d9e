"""Where OAuth tokens and registrations are kept: in memory, or in a file that only its owner can read."""

import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from runtime.errors import McpError


class TokenStore:
    """Keeps the SDK's contract `TokenStorage`; `file` None keeps everything in memory."""

    def __init__(self, server_url: str, file: Path | None, client: OAuthClientInformationFull | None) -> None:
        self._server_url = server_url
        self._file = file
        self._client = client
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        kept = self._read().get("tokens")
        return OAuthToken.model_validate(kept) if kept else self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens
        self._write("tokens", tokens.model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        kept = self._read().get("client")
        return OAuthClientInformationFull.model_validate(kept) if kept and not self._client else self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info
        self._write("client", client_info.model_dump(mode="json", exclude_none=True))

    def _read_all(self) -> dict[str, Any]:
        if self._file is None or not self._file.exists():
            return {}
        if os.name == "posix" and self._file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise McpError(
                f'the token file "{self._file.name}" can be read by others',
                code="ERR_MCP_AUTH",
                hint="set its mode to 0600, or delete it and sign in again",
            )
        try:
            kept = json.loads(self._file.read_bytes())
        except ValueError:
            return {}  # a file that is no JSON holds no tokens
        return kept if isinstance(kept, dict) else {}

    def _read(self) -> dict[str, Any]:
        kept = self._read_all().get(self._server_url)
        return kept if isinstance(kept, dict) else {}

    def _write(self, key: str, value: Any) -> None:
        """Replace the file at once, never through a link, readable by its owner alone from the start."""
        if self._file is None:
            return
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self._file.with_name(self._file.name + ".lock")):
            kept = self._read_all()
            kept[self._server_url] = {**self._read(), key: value}
            descriptor, temporary = tempfile.mkstemp(dir=self._file.parent)  # of mode 0600
            try:
                with os.fdopen(descriptor, "w") as stream:
                    json.dump(kept, stream)
                os.replace(temporary, self._file)
            except BaseException:
                os.unlink(temporary)
                raise


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Keep other processes from writing meanwhile, where the system has such locks."""
    with open(file, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
