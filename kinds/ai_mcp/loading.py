"""MCP tools for programs that call a model themselves: in its provider's format, or bound and ready to run.

The functions do what the manifest kind `AiMcp.ToolService` does, for people who embed the runtime.
"""

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
from msgspec import Struct

from kinds.ai_mcp.service import McpService, ServerTool, ServiceRules
from runtime.ai.content import flatten
from runtime.ai.contracts import Tool, ToolResult
from runtime.ai.formats import convert
from runtime.errors import Error, ToolError
from runtime.imported_code import ImportedCode
from runtime.mcp.contracts import Client

ApiFormat = Literal["openai", "anthropic", "google"]
CALL_TIMEOUT = 120.0
"""Seconds that a bound tool may take."""

_FORMATS = {"openai": "openai", "anthropic": "anthropic", "google": "gemini-parameters"}


class McpToolsConfig(Struct, frozen=True):
    """`enabled` (not set: no tools), `mode` (`auto`: every active server; `manual`: `selected_servers`)."""

    enabled: bool = False
    mode: Literal["auto", "manual"] = "auto"
    selected_servers: Sequence[str] = ()


class McpToolsSetup(Struct, frozen=True):
    """Tools in a provider's format, as they go into its request, and the tools they were made of."""

    tools: list[dict[str, Any]]
    mcp_tools: list[ServerTool]


class BoundMcpTool:
    """One MCP tool: `name`, `description`, `parameters` (JSON Schema), and `execute`."""

    def __init__(self, tool: ServerTool, service: McpService) -> None:
        self.name = tool.id
        self.description = tool.description
        self.parameters = tool.parameters
        self._tool = tool
        self._service = service

    async def execute(self, arguments: Mapping[str, Any]) -> str:
        """Run the tool and give its content as one string: text, `[Image: type]`, `[Audio: type]`, line by line.

        Raises `McpError` (ERR_MCP_TOOL_ERROR where the tool says it failed) and, after 120 seconds, `ToolError`
        ERR_TOOL_TIMEOUT. The error's `details` hold the `callId`.
        """
        call_id = uuid.uuid4().hex
        try:
            with anyio.fail_after(CALL_TIMEOUT):
                result = await self._service.call_tool(self._tool.server, self._tool.name, arguments)
        except TimeoutError as error:
            message = f'the tool "{self.name}" gave no answer in {CALL_TIMEOUT:.0f} seconds'
            raise ToolError(message, code="ERR_TOOL_TIMEOUT", details={"callId": call_id}) from error
        except Error as error:
            error.details["callId"] = call_id
            raise
        output = result.output if isinstance(result, ToolResult) else result
        if isinstance(output, Mapping) and isinstance(output.get("content"), list):
            output = output["content"]  # a result with blocks that are neither text nor image came through whole
        return flatten(output)


class DirectServer(Struct, frozen=True):
    """A stdio server that is opened for one session: the fields of `Mcp.StdioClient` that it needs."""

    name: str
    command: str
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None


async def fetch_mcp_tools(service: McpService, config: McpToolsConfig | None = None) -> list[ServerTool]:
    """The tools that the config asks for: none unless enabled, all active servers', or the selected servers'."""
    wanted = config or McpToolsConfig()
    return await service.fetch(ServiceRules(wanted.enabled, wanted.mode, wanted.selected_servers))


async def setup_mcp_tools(
    service: McpService, config: McpToolsConfig | None = None, api_format: ApiFormat = "openai"
) -> McpToolsSetup | None:
    """The tools in a provider's format and as they are, or None where there are none; logged server by server."""
    found = await fetch_mcp_tools(service, config)
    if not found:
        return None
    service.log(found)
    return McpToolsSetup(_convert(found, api_format), found)


def convert_mcp_tools_to_openai(tools: Sequence[ServerTool]) -> list[dict[str, Any]]:
    """`[{type: function, function: {name, description, parameters}}]`."""
    return _convert(tools, "openai")


def convert_mcp_tools_to_anthropic(tools: Sequence[ServerTool]) -> list[dict[str, Any]]:
    """`[{name, description, input_schema}]`."""
    return _convert(tools, "anthropic")


def convert_mcp_tools_to_gemini(tools: Sequence[ServerTool]) -> list[dict[str, Any]]:
    """`[{functionDeclarations: [{name, description, parameters}]}]`."""
    return _convert(tools, "google")


async def load_mcp_tools(service: McpService, server_ids: Sequence[str]) -> list[BoundMcpTool]:
    """The tools of these servers, bound; a server that fails is warned of and leaves the others alone."""
    found = await service.fetch(ServiceRules(True, "manual", server_ids))
    return [BoundMcpTool(tool, service) for tool in found]


@asynccontextmanager
async def load_direct_mcp_tools(
    servers: Sequence[DirectServer], *, folder: Path | None = None
) -> AsyncIterator[list[BoundMcpTool]]:
    """Start servers for one session and give their tools, named `server__tool`; leaving stops every process.

    A server that does not start is left out, with a line on the logger `runtime`.
    """
    from kinds.mcp.stdio_client import StdioClient

    async with AsyncExitStack() as stack:
        clients: list[Client] = []
        for server in servers:
            context = LogContext(server.name, folder or Path.cwd())
            fields: dict[str, Any] = {"cwd": server.cwd} if server.cwd is not None else {}
            declared = StdioClient(
                command=server.command, args=server.args, env=server.env, required=False, lifetime="run", **fields
            )
            clients.append(await stack.enter_async_context(declared.open(context)))
        service = McpService(clients, LogContext("tools", folder or Path.cwd()))
        yield await load_mcp_tools(service, service.servers)


class LogContext:
    """A `runtime.kind.Context` outside of any manifest: what is told goes to the logger `runtime`."""

    digest = ""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.code = ImportedCode()

    def warn(self, message: str) -> None:
        self._logger().warning("%s: %s", self.name, message)

    def log(self, message: str) -> None:
        self._logger().info("%s: %s", self.name, message)

    def mask(self, text: str) -> str:
        return text

    def evaluate(self, value: Any, scope: Mapping[str, Any]) -> Any:
        return value

    @staticmethod
    def _logger() -> Any:
        import logging

        return logging.getLogger("runtime")


def _convert(tools: Sequence[ServerTool], api_format: ApiFormat) -> list[dict[str, Any]]:
    plain = [Tool(tool.id, tool.description, tool.parameters) for tool in tools]
    return convert(plain, _FORMATS[api_format]).payload
