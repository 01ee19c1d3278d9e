"""`Mcp.ToolsCall`: calls one tool of an MCP server, without any model."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from runtime.contracts import Invocable
from runtime.errors import McpError
from runtime.kind import Context, Kind, Slot, kind
from runtime.mcp.contracts import Client


@kind("Mcp.ToolsCall", implements=Invocable)
class ToolsCall(Kind):
    """Calls one tool of an MCP server, without any model: the result as the server sent it.

    What is not said here is taken from the inputs: `name` and `arguments`.
    """

    client: Slot[Client, "The server whose tool is called."]
    tool: (
        Annotated[str, Meta(description="The tool's name; by default the input `name`.", min_length=1)] | UnsetType
    ) = UNSET
    arguments: Annotated[
        dict[str, Any], Meta(description="Arguments of every call; those of the input `arguments` go before them.")
    ] = field(default_factory=dict)
    timeout_ms: (
        Annotated[int, Meta(description="Milliseconds that a call may take; by default what the client says.", ge=1)]
        | UnsetType
    ) = UNSET

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Invocable]:
        yield ToolCaller(context.name, self.client, self.tool or None, self.arguments, self.timeout_ms or None)


class ToolCaller:
    def __init__(
        self, name: str, client: Client, tool: str | None, arguments: Mapping[str, Any], timeout_ms: int | None
    ) -> None:
        self._name = name
        self._client = client
        self._tool = tool
        self._arguments = arguments
        self._timeout_ms = timeout_ms

    async def invoke(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """`inputs` may hold `name` (text) and `arguments` (an object).

        Raises `McpError`: ERR_MCP_TOOL_ERROR for a result that says `isError`, with its `content` in the details.
        """
        tool, arguments = self._tool or inputs.get("name"), inputs.get("arguments", {})
        if not isinstance(tool, str) or not isinstance(arguments, Mapping):
            raise McpError(
                "a tool is called by the inputs `name` (text) and `arguments` (an object)",
                code="ERR_MCP_INPUT",
                resource=self._name,
                hint="give them, or set `tool` on the resource",
            )
        result = dict(await self._client.call_tool(tool, {**self._arguments, **arguments}, timeout_ms=self._timeout_ms))
        if result.get("isError"):
            raise McpError(
                f'the tool "{tool}" failed',
                code="ERR_MCP_TOOL_ERROR",
                resource=self._client.name,
                details={"tool": tool, "content": result.get("content")},
            )
        result.pop("resultType", None)
        return result
