"""A client of `lifetime: run`: each run of an agent talks to the server over a connection of its own."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from runtime.mcp.client import McpClient
from runtime.mcp.contracts import ServerInfo
from runtime.runs import current_run


class PerRunClient:
    """Lists by the connection that came up with the manifest; calls go over the run's own, opened by its first call.

    Outside of any run everything goes over the first connection.
    """

    lifetime = "run"

    def __init__(self, first: McpClient, connect: Callable[[], AbstractAsyncContextManager[McpClient]]) -> None:
        self._first = first
        self._connect = connect

    @property
    def name(self) -> str:
        return self._first.name

    @property
    def server(self) -> ServerInfo | None:
        return self._first.server

    @property
    def tools_generation(self) -> int:
        return self._first.tools_generation

    @property
    def health(self) -> tuple[str, str]:
        return self._first.health

    @property
    def summary(self) -> str:
        return self._first.summary

    @property
    def instructions(self) -> str:
        return self._first.instructions

    async def list_tools(self) -> Sequence[Mapping[str, Any]]:
        return await self._first.list_tools()

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, timeout_ms: int | None = None
    ) -> Mapping[str, Any]:
        return await (await self._choose()).call_tool(name, arguments, timeout_ms=timeout_ms)

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        return await (await self._choose()).request(method, params)

    async def _choose(self) -> McpClient:
        run = current_run()
        if run is None:
            return self._first
        own: McpClient = await run.once(self, self._connect)
        return own
