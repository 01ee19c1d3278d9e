"""`Mcp.ToolsList`: asks an MCP server for its tools."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from runtime.contracts import Invocable
from runtime.kind import Context, Kind, Slot, kind
from runtime.mcp.contracts import Client


@kind("Mcp.ToolsList", implements=Invocable)
class ToolsList(Kind):
    """Asks an MCP server for its tools, all pages of them: `{tools: [...]}` as the server sent them."""

    client: Slot[Client, "The server that is asked."]

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Invocable]:
        yield ToolsListing(self.client)


class ToolsListing:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def invoke(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """`inputs` are not looked at."""
        return {"tools": list(await self._client.list_tools())}
