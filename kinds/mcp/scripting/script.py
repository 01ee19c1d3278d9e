"""Playing the script of a server: the first answer that fits; anything unexpected is an error that says so."""

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import msgspec
from msgspec import UNSET, UnsetType

from kinds.mcp.scripting.fields import ScriptedRequest, ScriptedResult, ScriptedTool
from runtime.errors import McpError, ToolError
from runtime.kind import Context
from runtime.mcp.contracts import ServerInfo

NEWEST_VERSION = "2026-07-28"


class ScriptedClient:
    """Keeps the contract `Mcp.Client` with no server; it has no state, so any number of runs share it."""

    lifetime = "shared"
    tools_generation = 0

    def __init__(
        self, context: Context, info: ServerInfo, tools: Sequence[ScriptedTool], requests: Sequence[ScriptedRequest]
    ) -> None:
        self.name = context.name
        self.server: ServerInfo | None = info
        self.instructions = info.instructions
        self._context = context
        self._tools = {tool.name: tool for tool in tools}
        self._listed = [_list_tool(tool) for tool in tools]
        self._requests = requests

    @property
    def summary(self) -> str:
        """What a start tells of it."""
        return f"{len(self._tools)} tool{'' if len(self._tools) == 1 else 's'}, scripted"

    async def list_tools(self) -> Sequence[Mapping[str, Any]]:
        return self._listed

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, timeout_ms: int | None = None
    ) -> Mapping[str, Any]:
        """The result of the first answer that fits; raises McpError ERR_MCP_SCRIPT where none does."""
        tool = self._tools.get(name)
        if tool is None:
            raise self._fault(f'the script has no tool "{name}"')
        for answer in tool.answers:
            if _has(arguments, self._evaluate(answer.when, arguments)):
                return await self._give(answer, arguments)
        shown = msgspec.json.encode(arguments).decode()
        raise self._fault(f'the script has no answer to a call of "{name}" with {shown}')

    async def _give(self, answer: ScriptedResult, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if answer.delay_ms:
            await anyio.sleep(answer.delay_ms / 1000)
        if not isinstance(answer.error, UnsetType):
            message = str(self._evaluate(answer.error.message, arguments))
            raise McpError(message, code=answer.error.code, resource=self.name)
        content = [] if isinstance(answer.content, UnsetType) else self._evaluate(answer.content, arguments)
        result: dict[str, Any] = {"content": content, "isError": answer.is_error}
        if not isinstance(answer.text, UnsetType):
            text = self._evaluate(answer.text, arguments)
            text = text if isinstance(text, str) else msgspec.json.encode(text).decode()
            result["content"] = [{"type": "text", "text": text}, *content]
        if answer.structured_content is not UNSET:
            result["structuredContent"] = self._evaluate(answer.structured_content, arguments)
        return result

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The result of the first request that fits; raises McpError ERR_MCP_SCRIPT where none does."""
        for each in self._requests:
            if each.method == method and _has(params or {}, each.params):
                return each.result
        raise self._fault(f'the script has no answer to "{method}" with {msgspec.json.encode(params or {}).decode()}')

    def _evaluate(self, value: Any, arguments: Mapping[str, Any]) -> Any:
        try:
            return self._context.evaluate(value, {"arguments": arguments})
        except ToolError as error:
            raise self._fault(error.message) from error

    def _fault(self, message: str) -> McpError:
        return McpError(message, code="ERR_MCP_SCRIPT", resource=self.name)


def _list_tool(tool: ScriptedTool) -> dict[str, Any]:
    """A tool as `tools/list` has it."""
    listed: dict[str, Any] = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    if isinstance(tool.output_schema, dict):
        listed["outputSchema"] = tool.output_schema
    return {**listed, "annotations": tool.annotations} if tool.annotations else listed


def _has(given: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(key in given and given[key] == value for key, value in wanted.items())
