"""MCP's tools and results in the words of agents: what `AiMcp.*` kinds yield is made of this."""

from collections.abc import Mapping, Sequence
from typing import Any

from kinds.ai_mcp.naming import clean_name
from kinds.ai_mcp.output_check import find_misfit
from runtime.ai.contracts import Image, Part, Text, Tool, ToolResult
from runtime.errors import McpError
from runtime.kind import Context
from runtime.mcp.contracts import Client
from runtime.mcp.message import encode, is_deeper
from runtime.mcp.quoting import mask_value, quote_line, remove_hidden

DESCRIPTION_LIMIT = 16 * 1024  # characters of one tool's description, and of a server's instructions
SCHEMA_LIMIT = 256 * 1024  # bytes of one tool's input schema
DEPTH_LIMIT = 128  # of a schema or a structured result: code that walks it recursively is safe up to here
SHOWN_RESULT = 2000  # characters of a result that an error quotes


class McpTools:
    """Keeps the contract `Ai.ToolProvider` over any MCP client."""

    def __init__(self, client: Client, results: str, context: Context, *, is_resumable: bool = True) -> None:
        self.name = context.name
        self.is_resumable = is_resumable
        self.client = client
        self.results = results
        self._context = context
        self._listed: Sequence[Mapping[str, Any]] | None = None
        self._tools: list[Tool] = []
        self._raw: dict[str, Mapping[str, Any]] = {}

    @property
    def summary(self) -> str:
        """What a start tells of it: how many tools there are."""
        return f"{len(self._tools)} tool{'' if len(self._tools) == 1 else 's'}"

    @property
    def is_available(self) -> bool:
        """Whether the server is there: an optional one may not be, and then lists nothing."""
        return self.client.server is not None

    @property
    def instructions(self) -> str:
        """What the server says of its use, where its client lets that into the system text; empty otherwise."""
        text = getattr(self.client, "instructions", "")
        return self._context.mask(remove_hidden(text[:DESCRIPTION_LIMIT])).strip() if text else ""

    async def list_tools(self) -> Sequence[Tool]:
        """The server's tools; the same object again as long as the server's list is unchanged."""
        listed = await self.client.list_tools()
        if listed is not self._listed:
            self._take(listed)
        return self._tools

    def _take(self, listed: Sequence[Mapping[str, Any]]) -> None:
        tools: dict[str, Tool] = {}
        self._raw = {}
        for raw in listed:
            tool = self._translate(raw)
            if tool is None:
                continue
            if tool.name in tools:
                self._context.warn(
                    f'two tools are called "{tool.name}" once hidden characters are gone; one is left out'
                )
                continue
            tools[tool.name] = tool
            self._raw[tool.name] = raw
        self._listed, self._tools = listed, list(tools.values())

    def _translate(self, raw: Mapping[str, Any]) -> Tool | None:
        """A tool as agents know it, with a warning for all that had to be mended; None when it cannot be offered."""
        name = clean_name(raw["name"])
        shown = quote_line(name, 80)
        if name != raw["name"]:
            self._context.warn(f'the name of the tool "{shown}" held hidden characters, which were removed')
        if not name:
            return None
        if self._context.mask(name) != name:
            self._context.warn("a tool whose name holds a secret of ours is left out")
            return None
        schema = raw.get("inputSchema")
        if type(schema) is not dict:
            self._context.warn(f'the tool "{shown}" has no schema of its input; it is offered as taking any object')
            schema = {"type": "object", "properties": {}}
        packed = encode(schema)
        if is_deeper(packed, DEPTH_LIMIT):
            self._context.warn(f'the tool "{shown}" is left out: its schema is nested more than {DEPTH_LIMIT} deep')
            return None
        if len(packed) > SCHEMA_LIMIT:
            self._context.warn(f'the tool "{shown}" is left out: its schema has more than {SCHEMA_LIMIT} bytes')
            return None
        schema = self._mask_all(schema, packed)
        if not packed.isascii() or b"\\u" in packed or b"\x7f" in packed:
            cleaned = remove_all_hidden(schema)
            if cleaned != schema:
                self._context.warn(f'the schema of the tool "{shown}" held hidden characters, which were removed')
                schema = cleaned
        annotations = raw.get("annotations")
        return Tool(name, self._describe(raw, shown), schema, annotations if type(annotations) is dict else {})

    def _describe(self, raw: Mapping[str, Any], shown: str) -> str:
        description = raw.get("description")
        if type(description) is not str:
            return ""
        shortened = description[:DESCRIPTION_LIMIT].replace("\r\n", "\n")
        text = remove_hidden(shortened)
        if text != shortened:
            self._context.warn(f'the description of the tool "{shown}" held hidden characters, which were removed')
        if len(description) > DESCRIPTION_LIMIT:
            self._context.warn(f'the description of the tool "{shown}" is cut to {DESCRIPTION_LIMIT} characters')
        return self._context.mask(text)

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """The result by the rules of design.md section 6; raises `McpError`, ERR_MCP_TOOL_ERROR for `isError`."""
        raw = self._raw.get(name, {"name": name})
        result = await self.client.call_tool(raw["name"], arguments)
        content = result.get("content")
        blocks = [] if content is None else content
        structured = result.get("structuredContent")  # null counts as absent
        if type(blocks) is not list:
            raise self._fault(name, "its content is no list")
        if result.get("isError"):
            raise self._tool_error(name, blocks, structured)
        if structured is None:
            return self._translate_blocks(name, blocks, result)
        if find_misfit(raw.get("outputSchema"), structured):
            raise self._misfit(name, raw["outputSchema"], structured)
        structured, blocks = self._vet(name, structured), self._vet(name, blocks)
        return self._add_blocks(name, structured, blocks) if self.results == "both" else ToolResult(structured, blocks)

    def _misfit(self, name: str, schema: Mapping[str, Any], structured: Any) -> McpError:
        """Told of the result without secrets of ours: a message quotes values, and cuts long ones."""
        packed = encode({"": structured})
        masked = self._mask_all(structured, packed)
        misfit = find_misfit(schema, masked) or "in what is not shown"
        shown = self._context.mask(packed.decode()[4:-1])[:SHOWN_RESULT]
        return self._fault(name, f"it does not fit the tool's own output schema, {misfit}; it was {shown}")

    def _vet(self, name: str, value: Any) -> Any:
        """A value of a result without secrets of ours; raises where it is nested too deeply."""
        packed = encode({"": value})
        if is_deeper(packed, DEPTH_LIMIT):
            raise self._fault(name, f"it is nested more than {DEPTH_LIMIT} deep")
        return self._mask_all(value, packed)

    def _mask_all(self, value: Any, packed: bytes) -> Any:
        """The value without secrets; the value itself where its encoded form holds none."""
        text = packed.decode()
        return value if self._context.mask(text) == text else mask_value(value, self._context.mask)

    def _translate_blocks(self, name: str, blocks: Sequence[Any], result: Mapping[str, Any]) -> ToolResult:
        """Parts when every block is text or image; else the whole result as it came."""
        kinds = [read_kind(block) for block in blocks]
        if None in kinds:
            raise self._fault(name, "one of its blocks has no type")
        if any(kind not in ("text", "image") for kind in kinds):
            return ToolResult(self._vet(name, dict(result)))
        return ToolResult([self._make_part(name, block) for block in blocks])

    def _make_part(self, name: str, block: Mapping[str, Any]) -> Part:
        if block["type"] == "text":
            if type(text := block.get("text")) is str:
                return Text(self._context.mask(text))
            raise self._fault(name, "one of its text blocks has no text")
        data, media_type = block.get("data"), block.get("mimeType")
        if type(data) is str and type(media_type) is str:
            return Image(data, media_type)
        raise self._fault(name, "one of its image blocks lacks data or mimeType")

    def _add_blocks(self, name: str, structured: Any, blocks: Sequence[Any]) -> ToolResult:
        texts = [block for block in blocks if read_kind(block) == "text"]
        others = [block for block in blocks if read_kind(block) != "text"]
        if not others:
            return ToolResult(structured, texts)
        if any(read_kind(block) != "image" for block in others):
            return ToolResult({"structuredContent": structured, "content": others}, texts)
        value = Text(encode({"": structured}).decode()[4:-1])
        return ToolResult([value, *(self._make_part(name, block) for block in others)], texts)

    def _tool_error(self, name: str, blocks: Sequence[Any], structured: Any) -> McpError:
        words = remove_hidden("\n".join(flatten(block) for block in blocks)).strip()
        if not words and structured is not None:
            words = encode({"": structured}).decode()[4:-1]
        return McpError(
            self._context.mask(words) or f'the tool "{quote_line(name, 80)}" failed and did not say why',
            code="ERR_MCP_TOOL_ERROR",
            resource=self.client.name,
            details={"tool": name},
        )

    def _fault(self, name: str, what: str) -> McpError:
        return McpError(
            f'the result of the tool "{quote_line(name, 80)}" is unusable: {what}',
            code="ERR_MCP_PROTOCOL",
            resource=self.client.name,
            details={"tool": name},
        )


def read_kind(block: Any) -> str | None:
    kind = block.get("type") if type(block) is dict else None
    return kind if type(kind) is str else None


def flatten(block: Any) -> str:
    """A block of an error in words."""
    kind = read_kind(block)
    if kind == "text" and type(block.get("text")) is str:
        return str(block["text"])
    if kind in ("image", "audio"):
        return f"[{kind.capitalize()}: {block.get('mimeType')}]"
    return encode({"": block}).decode()[4:-1]


def remove_all_hidden(value: Any) -> Any:
    """The same for every text of a JSON value, keys included."""
    if type(value) is str:
        return remove_hidden(value)
    if type(value) is list:
        return [remove_all_hidden(member) for member in value]
    if type(value) is dict:
        return {remove_hidden(key): remove_all_hidden(member) for key, member in value.items()}
    return value
