"""`AiMcp.ToolService`: the tools of a set of MCP servers, as one tool provider."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from runtime.ai.contracts import ToolProvider
from runtime.kind import FIXED, NAMES, Context, Inspection, Kind, Slot, kind
from runtime.mcp.contracts import Client

if TYPE_CHECKING:
    from runtime.known_tools import KnownTool


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
            Meta(
                description="The clients whose tools `mode: manual` offers, by name.", extra_json_schema=FIXED | NAMES
            ),
        ]
        | UnsetType
    ) = UNSET

    resumable: Annotated[
        bool, Meta(description="Whether a run that is kept can go on with other connections; see `AiMcp.ToolProvider`.")
    ] = True

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: a selected server that is not among the clients."""
        names = [name for _, name in inspection.names("clients", "*")]
        for path, selected in inspection.find("selectedServers", "*"):
            if isinstance(selected, str) and selected not in names:
                hint = f"the clients are: {', '.join(names)}" if names else "name the clients with !ref"
                inspection.report("SCHEMA_VALUE", path, f'no client of this service is named "{selected}"', hint)

    @classmethod
    def known_tools(cls, inspection: Inspection) -> "Sequence[KnownTool] | None":
        """The tools of the wanted servers by their ids, once those of all of them are known."""
        enabled, mode = (next(inspection.find(field, expressions=True), None) for field in ("enabled", "mode"))
        if enabled is None or enabled[1] is False:
            return []
        if enabled[1] is not True or (mode is not None and mode[1] not in ("auto", "manual")):
            return None  # whatever an expression will give
        from kinds.ai_mcp.naming import name_tools, server_prefix

        clients = {
            client.title: client for path, _ in inspection.find("clients", "*") if (client := inspection.at(*path))
        }
        wanted: Iterable[Any] = clients
        if mode is not None and mode[1] == "manual":
            wanted = [name for _, name in inspection.find("selectedServers", "*")]
        found: list[KnownTool] = []
        for client in (clients[name] for name in wanted if name in clients):
            lifetime = next(client.find("lifetime", expressions=True), ((), "shared"))[1]
            if client.tools is None or lifetime not in ("shared", "run"):
                return None
            found += name_tools(client.tools, server_prefix(client.title, lifetime))
        return found

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[ToolProvider]:
        from kinds.ai_mcp.service import McpService, ServiceRules, ServiceTools

        selected = self.selected_servers if isinstance(self.selected_servers, list) else ()
        tools = ServiceTools(
            context, McpService(self.clients, context), ServiceRules(self.enabled, self.mode, tuple(selected))
        )
        tools.is_resumable = self.resumable
        if not self.enabled:
            context.warn("the service is not enabled, so it offers no tools; set `enabled: true`")
        await tools.list_tools()
        yield tools
