"""What tests of MCP share: a context that keeps what it is told, and clients of servers that misbehave."""

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from kinds.mcp.http_client import HttpClient
from kinds.mcp.stdio_client import StdioClient
from runtime.mcp import Client

HOSTILE = str(Path(__file__).parents[1] / "servers" / "hostile.py")


class Recorder:
    """A context that keeps what it is told; `secret` is masked."""

    def __init__(self, folder: Path) -> None:
        self.name = "Server"
        self.folder = folder
        self.warnings: list[str] = []
        self.lines: list[str] = []
        self.awaited: dict[str, anyio.Event] = {}

    def warn(self, message: str) -> None:
        self.warnings.append(self.mask(message))

    def log(self, message: str) -> None:
        self.lines.append(self.mask(message))
        if message in self.awaited:
            self.awaited[message].set()

    async def wait_for(self, line: str) -> None:
        """Wait until this line is logged."""
        if line not in self.lines:
            self.awaited[line] = anyio.Event()
            await self.awaited[line].wait()

    def mask(self, text: str) -> str:
        return text.replace("s3cr3t", "***")

    def evaluate(self, value: Any, scope: Mapping[str, Any]) -> Any:
        return value


@pytest.fixture
def context(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


OpenStdio = Callable[..., AbstractAsyncContextManager[Client]]
OpenHttp = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def stdio(context: Recorder) -> OpenStdio:
    """Connect to `hostile.py` with this code; keywords are fields of the client."""

    @asynccontextmanager
    async def connect(code: str = "", **fields: Any) -> AsyncIterator[Client]:
        fields = {"connect_timeout_ms": 10_000, "call_timeout_ms": 10_000, **fields}
        async with StdioClient(command=sys.executable, args=["-S", "-E", HOSTILE, code], **fields).open(
            context
        ) as client:
            yield client

    return connect


@pytest.fixture
def http(context: Recorder) -> OpenHttp:
    """Connect to a URL; keywords are fields of the client."""

    @asynccontextmanager
    async def connect(url: str, **fields: Any) -> AsyncIterator[Client]:
        fields = {"connect_timeout_ms": 10_000, "call_timeout_ms": 10_000, **fields}
        async with HttpClient(url=url, **fields).open(context) as client:
            yield client

    return connect
