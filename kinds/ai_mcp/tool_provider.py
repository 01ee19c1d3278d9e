"""`AiMcp.ToolProvider`: offers the tools of an MCP server to an agent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from msgspec import Meta

from runtime.ai.contracts import ToolProvider
from runtime.kind import Context, Kind, Slot, kind
from runtime.mcp.contracts import Client


@kind("AiMcp.ToolProvider", implements=ToolProvider)
class McpToolProvider(Kind):
    """Offers the tools of an MCP server to an agent."""

    client: Slot[Client, "Any MCP client: stdio or Streamable HTTP."]
    results: Annotated[
        Literal["structured", "both"],
        Meta(
            description="What the model gets of a result with structured content: `structured` is that content alone, "
            "`both` adds the blocks that are no text, such as images."
        ),
    ] = "structured"

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[ToolProvider]:
        from kinds.ai_mcp.bridge import McpTools

        tools = McpTools(self.client, self.results, context)
        await tools.list_tools()  # a server whose list cannot be read is known at the start, not in the first run
        yield tools
