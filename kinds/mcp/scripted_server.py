"""`Mcp.ScriptedServer`: an MCP server that is no process: its tools and their answers stand in the manifest."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from kinds.mcp.scripting.fields import ScriptedInfo, ScriptedRequest, ScriptedTool
from runtime.json_schema import find_schema_faults
from runtime.kind import Context, Inspection, Kind, kind
from runtime.mcp.contracts import Client

if TYPE_CHECKING:
    from runtime.known_tools import KnownTool


@kind("Mcp.ScriptedServer", implements=Client)
class ScriptedServer(Kind):
    """An MCP server that is no process: its tools and their answers stand in the manifest. For tests and drafts."""

    tools: Annotated[list[ScriptedTool], Meta(description="The tools, in the order in which they are listed.")] = []
    requests: Annotated[
        list[ScriptedRequest], Meta(description="Answers to other requests, such as `resources/read`.")
    ] = []
    instructions: Annotated[
        str, Meta(description="What the server says of its use; it joins the system text of the agents.")
    ] = ""
    info: Annotated[ScriptedInfo, Meta(description="How the server introduces itself.")] = ScriptedInfo()

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: schemas that are none, and two tools of one name."""
        for field in ("inputSchema", "outputSchema"):
            for path, schema in inspection.find("tools", "*", field):
                for inside, fault in find_schema_faults(schema):
                    inspection.report("SCHEMA_VALUE", (*path, *inside), fault)
        seen: set[Any] = set()
        for path, name in inspection.find("tools", "*", "name"):
            if isinstance(name, str) and name in seen:
                inspection.report("SCHEMA_VALUE", path, f'the server has a tool "{name}" already')
            seen.add(name if isinstance(name, str) else None)

    @classmethod
    def known_tools(cls, inspection: Inspection) -> "Sequence[KnownTool]":
        """The tools as they stand in the manifest."""
        from runtime.known_tools import KnownTool

        tools = [tool for _, tool in inspection.find("tools", "*") if isinstance(tool, Mapping)]
        return [KnownTool(tool["name"], partial(dict, tool)) for tool in tools if type(tool.get("name")) is str]

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Client]:
        from kinds.mcp.scripting.script import NEWEST_VERSION, ScriptedClient
        from runtime.mcp.contracts import ServerInfo

        info = ServerInfo(self.info.name, self.info.version, NEWEST_VERSION, {"tools": {}}, self.instructions)
        yield ScriptedClient(context, info, self.tools, self.requests)
