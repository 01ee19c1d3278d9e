"""`AiMcp.ToolService`: the tools of a set of MCP servers, as one tool provider."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from runtime.ai.contracts import ToolProvider
from runtime.kind import FIXED, Context, Inspection, Kind, Slot, kind
from runtime.mcp.contracts import Client


@kind("AiMcp.ToolService", implements=ToolProvider)
class McpToolService(Kind):
    """The tools of a set of MCP servers, as one tool provider; a server that fails takes no other with it.

    A tool is named after its server: `mcp__Files__read`, or `Files__read` for a client of `lifetime: run`.
    """

    clients: Annotated[
        list[Slot[Client, "An MCP client: stdio or Streamable HTTP."]],
        Meta(description="The servers of the set.", min_length=1),
    ]
    enabled: Annotated[bool, Meta(description="Whether the service offers any tools.")] = False
    mode: Annotated[
        Literal["auto", "manual"],
        Meta(description="`auto` offers the tools of every server that is there, `manual` those of `selectedServers`."),
    ] = "auto"
    selected_servers: (
        Annotated[
            list[str],
            Meta(description="The clients whose tools `mode: manual` offers, by name.", extra_json_schema=FIXED),
        ]
        | UnsetType
    ) = UNSET

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: a selected server that is not among the clients."""
        names = [name for _, name in inspection.names("clients", "*")]
        for path, selected in inspection.find("selectedServers", "*"):
            if isinstance(selected, str) and selected not in names:
                hint = f"the clients are: {', '.join(names)}" if names else "name the clients with !ref"
                inspection.report("SCHEMA_VALUE", path, f'no client of this service is named "{selected}"', hint)

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[ToolProvider]:
        from kinds.ai_mcp.service import McpService, ServiceRules, ServiceTools

        selected = self.selected_servers if isinstance(self.selected_servers, list) else ()
        tools = ServiceTools(
            context, McpService(self.clients, context), ServiceRules(self.enabled, self.mode, tuple(selected))
        )
        if not self.enabled:
            context.warn("the service is not enabled, so it offers no tools; set `enabled: true`")
        await tools.list_tools()
        yield tools
