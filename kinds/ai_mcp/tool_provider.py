"""`AiMcp.ToolProvider`: offers the tools of an MCP server to an agent."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from runtime.ai.contracts import ToolProvider
from runtime.kind import Context, Inspection, Kind, Slot, kind
from runtime.mcp.contracts import Client

if TYPE_CHECKING:
    from runtime.known_tools import KnownTool


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
    resumable: Annotated[
        bool,
        Meta(
            description="Whether a run that is kept can go on with another connection. `false` is for servers with a"
            " state, such as a browser or a shell: a run that used one ends with ERR_AGENT_RESUMABLE when its process"
            " dies."
        ),
    ] = True

    @classmethod
    def known_tools(cls, inspection: Inspection) -> "Sequence[KnownTool] | None":
        """The tools of the client."""
        client = inspection.at("client")
        tools = client.tools if client is not None else None
        if tools is None:
            return None
        from kinds.ai_mcp.naming import name_tools

        return name_tools(tools)

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[ToolProvider]:
        from kinds.ai_mcp.bridge import McpTools

        tools = McpTools(self.client, self.results, context, is_resumable=self.resumable)
        await tools.list_tools()  # a server whose list cannot be read is known at the start, not in the first run
        yield tools
