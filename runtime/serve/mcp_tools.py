"""What MCP clients see of a service: each agent as a tool, or the tools of one agent as they are."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from runtime.ai.contracts import Image, Text
from runtime.errors import Error, ToolError
from runtime.masking import Masker, mask_json
from runtime.serve.graph import ServedGraph
from runtime.serve.runs import ServedRun
from runtime.serve.service import Service
from runtime.version import VERSION

Report = Callable[[float, float | None, str | None], Awaitable[None]]
"""Tells the caller how far its call is, where the caller wants to know: a number that grows, of how many, in words."""
ASKED = {
    "type": "object",
    "properties": {"prompt": {"type": "string", "description": "What to ask the agent."}},
    "required": ["prompt"],
    "additionalProperties": False,
}


class UnknownTool(ToolError):
    """There is no such tool."""

    code = "ERR_TOOL_UNKNOWN"


class AgentTools:
    """Each agent as a tool that takes a prompt and gives the answer."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list(self) -> Sequence[types.Tool]:
        graph = self._service.graph
        return [types.Tool(name=name, description=graph.describe(name), input_schema=ASKED) for name in graph.agents]

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report) -> types.CallToolResult:
        """Run the agent, and report its tool calls; a caller who gives up stops the run."""
        if name not in self._service.graph.agents:
            raise _unknown(name, list(self._service.graph.agents))
        prompt = arguments.get("prompt")
        if type(prompt) is not str or set(arguments) != {"prompt"}:
            raise ToolError("the tool takes `prompt`, a text, and nothing else", code="ERR_TOOL_ARGUMENTS")
        run = self._service.begin(name, {"prompt": prompt})
        try:
            await _report_progress(run, report)
        finally:
            run.cancel()
        if run.cause is not None:
            raise run.cause
        if run.status != "finished":
            raise ToolError("the run was cancelled", code="ERR_SERVE_CANCELLED")
        output = run.result.get("output")
        return to_result(output if "output" in run.result else run.result["text"])


class GatewayTools:
    """The tools of one agent, as it offers them: filtered, prefixed, those that need approval left out."""

    def __init__(self, service: Service, agent: str) -> None:
        self._service = service
        self._agent = agent

    async def list(self) -> Sequence[types.Tool]:
        return [
            types.Tool(name=tool.name, description=tool.tool.description, input_schema=dict(tool.tool.parameters))
            for tool in await self._tools(self._service.graph)
        ]

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report) -> types.CallToolResult:
        """Run the tool; how far it is nobody knows."""
        with self._service.using_graph() as graph:
            tools = {tool.name: tool for tool in await self._tools(graph)}
            if name not in tools:
                raise _unknown(name, list(tools))
            tool = tools[name]
            self._service.admission.admit()
            async with self._service.admission.place():
                result = await tool.call(tool.check.accept(name, dict(arguments)))
            return to_result(_masked(result.output, graph.masker))

    async def _tools(self, graph: ServedGraph) -> Sequence[Any]:
        agent = graph.agents.get(self._agent)
        tools = await agent.tools() if agent is not None else ()
        return [tool for tool in tools if not tool.needs_approval]


Tools = AgentTools | GatewayTools


def make_mcp_server(service: Service, tools: Tools) -> Server[Any]:
    """A server of the official SDK that offers these tools, in every version of the protocol that it speaks."""

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(await tools.list()))

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        masker = service.graph.masker
        try:
            return await tools.call(params.name, params.arguments or {}, context.session.report_progress)
        except (
            UnknownTool
        ) as error:  # https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling
            raise MCPError(types.INVALID_PARAMS, masker(error.message)) from error
        except Error as error:
            words = masker(f"{error.message} ({error.code})")
            return types.CallToolResult(content=[types.TextContent(type="text", text=words)], is_error=True)

    return Server("runtime", version=VERSION, on_list_tools=list_tools, on_call_tool=call_tool)


def to_result(output: Any) -> types.CallToolResult:
    """A tool's output in the words of MCP: text and images as blocks, a whole result as it came, else JSON."""
    if isinstance(output, str):
        return types.CallToolResult(content=[types.TextContent(type="text", text=output)])
    if isinstance(output, list) and output and all(isinstance(part, Text | Image) for part in output):
        return types.CallToolResult(content=[_block(part) for part in output])
    if isinstance(output, Mapping) and isinstance(output.get("content"), list):
        from pydantic import ValidationError

        try:
            return types.CallToolResult.model_validate(dict(output))
        except ValidationError:  # blocks that the SDK does not know: all of it as JSON rather than a part of it
            pass
    text = types.TextContent(type="text", text=msgspec.json.encode(output).decode())
    structured = dict(output) if isinstance(output, Mapping) else None
    return types.CallToolResult(content=[text], structured_content=structured)


def _block(part: Text | Image) -> types.TextContent | types.ImageContent:
    if isinstance(part, Text):
        return types.TextContent(type="text", text=part.text)
    return types.ImageContent(type="image", data=part.data, mime_type=part.media_type)


def _masked(output: Any, masker: Masker) -> Any:
    if isinstance(output, list) and all(isinstance(part, Text | Image) for part in output):
        return [Text(masker(part.text)) if isinstance(part, Text) else part for part in output]
    return mask_json(msgspec.to_builtins(output), masker)


async def _report_progress(run: ServedRun, report: Report) -> None:
    """Wait until a run is over, and report each step of its tools; a sign of life where there is none for long."""
    count = 0
    async for _, line in run.follow():
        if line and not line.startswith(b'{"type":"tool-'):
            continue
        count += 1
        event = msgspec.json.decode(line) if line else {"type": "idle"}
        words = {"tool-call": "calls {}", "tool-result": "has the answer of {}"}.get(event["type"], "goes on")
        await report(count, None, words.format(event.get("name", "")))


def _unknown(name: str, names: Sequence[str]) -> UnknownTool:
    return UnknownTool(f'there is no tool "{name}"; the tools are: {", ".join(names) or "none"}')
