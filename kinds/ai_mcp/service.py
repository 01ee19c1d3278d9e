"""A set of MCP servers: whose tools are there, under which names, and the way back to the server of each."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from kinds.ai_mcp.bridge import McpTools
from kinds.ai_mcp.naming import server_prefix
from runtime.ai.contracts import Tool
from runtime.errors import Error, ExpectationError, ToolError
from runtime.kind import Context
from runtime.mcp.contracts import Client


class ServiceRules(Struct, frozen=True):
    """Which tools are wanted: none unless `enabled`; all of them (`auto`), or those of the selected servers."""

    enabled: bool = False
    mode: Literal["auto", "manual"] = "auto"
    selected_servers: Sequence[str] = ()


class ServerTool(Struct, frozen=True):
    """A tool of one server of the set. `id` is how a model names it: `mcp__server__tool`, or `server__tool`."""

    id: str
    server: str
    name: str
    description: str
    parameters: Mapping[str, Any]


class McpService:
    """The clients of a set, by name."""

    def __init__(self, clients: Sequence[Client], context: Context) -> None:
        """`context` is told of what is warned of and logged."""
        self._context = context
        self._tools = {client.name: McpTools(client, "structured", context) for client in clients}

    @property
    def servers(self) -> list[str]:
        """The names of the servers, in order."""
        return list(self._tools)

    async def list_all_active_server_tools(self) -> list[ServerTool]:
        """The tools of every server that is there; one that cannot list its tools is warned of and left out."""
        found: list[ServerTool] = []
        for server in self._tools:
            try:
                found += await self.list_server_tools(server)
            except ExpectationError:
                raise
            except Error as error:
                self._context.warn(f'the tools of the server "{server}" cannot be listed: {error.message}')
        return found

    async def list_server_tools(self, server: str) -> list[ServerTool]:
        """The tools of one server. Raises `ToolError` ERR_TOOL_SERVER for a name that is none, and `McpError`."""
        tools = self._find(server)
        prefix = server_prefix(server, getattr(tools.client, "lifetime", "shared"))
        return [
            ServerTool(f"{prefix}{tool.name}", server, tool.name, tool.description, tool.parameters)
            for tool in await tools.list_tools()
        ]

    async def call_tool(self, server: str, name: str, arguments: Mapping[str, Any]) -> Any:
        """A tool's result (`runtime.ai.contracts.ToolResult`); raises as the provider of one server does."""
        return await self._find(server).call_tool(name, arguments)

    def _find(self, server: str) -> McpTools:
        if server not in self._tools:
            names = ", ".join(self._tools) or "none"
            raise ToolError(f'there is no server "{server}"', code="ERR_TOOL_SERVER", hint=f"the servers are: {names}")
        return self._tools[server]

    def has_all(self, rules: ServiceRules) -> bool:
        """Whether every server whose tools are wanted is there."""
        wanted = self.servers if rules.mode == "auto" else rules.selected_servers
        return rules.enabled and all(name in self._tools and self._tools[name].is_available for name in wanted)

    async def fetch(self, rules: ServiceRules) -> list[ServerTool]:
        """The tools that the rules ask for; a server that cannot list its own is warned of and left out."""
        if not rules.enabled:
            return []
        if rules.mode == "auto":
            found = await self.list_all_active_server_tools()
        else:
            found = []
            for server in rules.selected_servers:
                try:
                    found += await self.list_server_tools(server)
                except ExpectationError:
                    raise
                except Error as error:
                    self._context.warn(f'the tools of the server "{server}" cannot be listed: {error.message}')
        return found

    def log(self, found: Sequence[ServerTool]) -> None:
        """Tell what was found, grouped by server."""
        for server in dict.fromkeys(tool.server for tool in found):
            names = [tool.name for tool in found if tool.server == server]
            self._context.log(f"{server}: {len(names)} tools: {', '.join(names)}")


class ServiceTools:
    """Keeps the contract `Ai.ToolProvider` over a set of servers."""

    def __init__(self, context: Context, service: McpService, rules: ServiceRules) -> None:
        self.name = context.name
        self.is_resumable = True
        self._service = service
        self._rules = rules
        self._found: list[ServerTool] = []
        self._tools: list[Tool] = []

    @property
    def summary(self) -> str:
        """What a start tells of it."""
        return f"{len(self._tools)} tools of {len(self._service.servers)} servers"

    @property
    def is_available(self) -> bool:
        """Whether every server whose tools are wanted is there."""
        return self._service.has_all(self._rules)

    async def list_tools(self) -> Sequence[Tool]:
        """The tools by their ids; the same object again as long as nothing changed."""
        found = await self._service.fetch(self._rules)
        if found != self._found:
            self._service.log(found)
            self._found = found
            self._tools = [Tool(tool.id, tool.description, tool.parameters) for tool in found]
        return self._tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        tool = next((tool for tool in self._found if tool.id == name), None)
        if tool is None:
            raise ToolError(f'there is no tool "{name}"', code="ERR_TOOL_UNKNOWN", resource=self.name)
        return await self._service.call_tool(tool.server, tool.name, arguments)
