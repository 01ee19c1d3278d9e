"""The span of a tool's call, by OpenTelemetry's conventions for MCP.

https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md: where an agent traces the
call already, that span gets what MCP has to say, and there is no second one. Session ids are secrets, so none is told.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from runtime.errors import McpError
from runtime.mcp.contracts import ServerInfo
from runtime.telemetry import NOTHING, Span, is_tracing, start_span, tool_span

_UNTRACED = nullcontext(NOTHING)


def tool_call_span(tool: str, server: ServerInfo | None, *, is_http: bool) -> AbstractContextManager[Span]:
    """The span of a call while the block makes it; a `McpError` fails it."""
    outer = tool_span()
    if outer is NOTHING and not is_tracing():
        return _UNTRACED
    return _tool_call_span(tool, server, outer, is_http)


@contextmanager
def _tool_call_span(tool: str, server: ServerInfo | None, outer: Span, is_http: bool) -> Iterator[Span]:
    span = outer
    attributes: dict[str, Any] = {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": server.protocol_version if server else "",
        "network.transport": "tcp" if is_http else "pipe",
    }
    if outer.is_traced:
        outer.set(attributes)
    else:
        named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
        span = start_span(f"tools/call {tool}", {**attributes, **named}, kind="client")
    try:
        with span.around(is_tool=True):
            yield span
    except McpError as error:
        code = error.details.get("rpcCode")
        if code is not None:
            span.set({"rpc.response.status_code": str(code)})
        span.fail(error.code if code is None else str(code))
        raise
    finally:
        if span is not outer:
            span.end()
