"""`Suite.ToolProvider`: the tools that the server half of the MCP conformance suite asks for by name."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from runtime import Context, Kind, ToolError, kind
from runtime.ai import Tool, ToolProvider

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
TEXT = {"type": "text", "text": "Multiple content types test:"}
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}
NOTE = {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."}
EMBEDDED = {"type": "resource", "resource": NOTE}
RESULTS: Mapping[str, Any] = {
    "test_simple_text": "This is a simple text response for testing.",
    "test_image_content": {"content": [IMAGE]},
    "test_audio_content": {"content": [AUDIO]},
    "test_embedded_resource": {"content": [EMBEDDED]},
    "test_multiple_content_types": {"content": [TEXT, IMAGE, EMBEDDED]},
    "json_schema_2020_12_tool": "ok",
    "test_headers": "ok",
}
NOTHING = {"type": "object", "properties": {}}
ADDRESS = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
DIALECT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
ROUTED = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
PARAMETERS = {"json_schema_2020_12_tool": DIALECT, "test_headers": ROUTED}


@kind("Suite.ToolProvider", implements=ToolProvider)
class SuiteToolProvider(Kind):
    """The tools of the suite."""

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[ToolProvider]:
        yield SuiteTools()


class SuiteTools:
    def __init__(self) -> None:
        names = [*RESULTS, "test_error_handling"]
        self._tools = [Tool(name, name, PARAMETERS.get(name, NOTHING)) for name in names]

    async def list_tools(self) -> Sequence[Tool]:
        return self._tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        if name not in RESULTS:
            raise ToolError("This tool intentionally returns an error for testing")
        return RESULTS[name]
