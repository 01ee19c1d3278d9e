"""An MCP endpoint on loopback in the test's own event loop, of which a test rewrites what shall misbehave."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from servers.hostile import MODERN, TOOLS, Refused, text

REASONS = {200: "OK", 202: "Accepted"}


@dataclass
class Request:
    verb: str
    path: str
    headers: Mapping[str, str]
    message: Any
    method: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    id: Any = None
    text: str = ""


@dataclass
class Response:
    """A whole answer; with `parts` the body is sent piece by piece, and the connection ends after the last one."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    parts: "AsyncIterator[bytes] | None" = None


def answer(request: Request, result: Any, **headers: str) -> Response:
    return json_response({"jsonrpc": "2.0", "id": request.id, "result": result}, **headers)


def json_response(message: Any, status: int = 200, **headers: str) -> Response:
    fields = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Response(status, json.dumps(message).encode(), fields)


def events(*messages: Any) -> Response:
    """An event stream that holds these messages, and ends."""
    return stream(*(b"data: " + json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n\n" for message in messages))


def stream(*parts: bytes) -> Response:
    async def send() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    return Response(headers={"Content-Type": "text/event-stream"}, parts=send())


class Endpoint:
    """A handshake-era server without sessions; subclasses override what they break. `requests` is what it saw."""

    url = ""
    is_modern = False
    capabilities: Mapping[str, Any] = {"tools": {}}

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def seen(self, method: str) -> list[Request]:
        return [request for request in self.requests if request.method == method]

    async def handle(self, request: Request) -> Response:
        if request.verb != "POST":
            return Response(405)
        if request.id is None:
            return Response(202)
        try:
            return await self.respond(request)
        except Refused as refused:
            code, words, *data = refused.args
            error = {"code": code, "message": words, **({"data": data[0]} if data else {})}
            return json_response({"jsonrpc": "2.0", "id": request.id, "error": error})

    async def respond(self, request: Request) -> Response:
        return answer(request, self.dispatch(request))

    def dispatch(self, request: Request) -> Any:
        if request.method == "server/discover" and self.is_modern:
            return {"supportedVersions": [MODERN], "capabilities": self.capabilities}
        if request.method == "initialize" and not self.is_modern:
            version = request.params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": self.capabilities, "serverInfo": {"name": "loopback"}}
        if request.method == "tools/list":
            return {"tools": TOOLS}
        if request.method == "tools/call":
            return self.call(request)
        raise Refused(-32601, "no such method")

    def call(self, request: Request) -> Any:
        return text(str(request.params["arguments"].get("text", "")))


@asynccontextmanager
async def serve(endpoint: Endpoint, path: str = "/mcp", tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Run the endpoint while the block runs; gives its URL."""
    open_connections: set[asyncio.Task[Any]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_connections.add(task)
        try:
            while await converse(endpoint, reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went, or the test is over
        finally:
            open_connections.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 24, ssl=tls)
    endpoint.url = f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
    try:
        yield endpoint.url
    finally:
        server.close()
        for task in open_connections:
            task.cancel()
        if open_connections:
            await asyncio.wait(open_connections)


async def converse(endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """One request and its answer; False when the connection ends with it."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    verb, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    is_json = headers.get("content-type", "").startswith("application/json")
    message = json.loads(body) if body and is_json else {}
    fields = message if isinstance(message, dict) else {}
    method, params = fields.get("method", ""), fields.get("params") or {}
    request = Request(verb, path, headers, message, method, params, fields.get("id"), body.decode())
    endpoint.requests.append(request)
    response = await endpoint.handle(request)
    head = [f"HTTP/1.1 {response.status} {REASONS.get(response.status, 'Odd')}"]
    head += [f"{name}: {value}" for name, value in response.headers.items()]
    if response.parts is None and "Content-Length" not in response.headers:
        head.append(f"Content-Length: {len(response.body)}")
    elif response.parts is not None:
        head.append("Connection: close")
    writer.write("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + response.body)
    await writer.drain()
    if response.parts is None:
        return True
    async for part in response.parts:
        writer.write(part)
        await writer.drain()
    return False
