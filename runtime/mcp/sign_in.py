"""A person's part in an OAuth flow: the browser that is opened, and the loopback address that it comes back to."""

import asyncio
import socket
import webbrowser
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import AuthorizationCodeResult

from runtime.errors import McpError
from runtime.kind import Context

CALLBACK_PATH = "/callback"
REQUEST_LIMIT = 16 * 1024  # bytes of the browser's request that are read
REQUEST_TIMEOUT = 10.0
PAGE = b"<!doctype html><meta charset=utf-8><title>Signed in</title><p>Signed in. You can close this window."


class Browser:
    """One client's browser; `listen` names the address to come back to, before anything is asked."""

    def __init__(self, port: int, *, is_allowed: bool, context: Context) -> None:
        self._port = port
        self._is_allowed = is_allowed
        self._context = context
        self._socket: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[AuthorizationCodeResult] | None = None

    def listen(self) -> str:
        """Take the loopback port; the address of the callback."""
        if not self._is_allowed:
            return f"http://127.0.0.1:{self._port or 1}{CALLBACK_PATH}"
        self._socket = socket.create_server(("127.0.0.1", self._port))
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}{CALLBACK_PATH}"

    async def open(self, url: str) -> None:
        """Send the person to the authorization server; raises `McpError` where none may be asked."""
        if not self._is_allowed or self._socket is None:
            raise McpError(
                "the server wants a person to sign in, and `interactive` is false",
                code="ERR_MCP_AUTH",
                hint="sign in once with `interactive: true` and a `tokenFile`",
            )
        self._answer = asyncio.get_running_loop().create_future()
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, sock=self._socket, limit=REQUEST_LIMIT)
        self._context.warn(f"sign in with the browser; if none opens, go to {url}")
        await asyncio.to_thread(webbrowser.open, url)

    async def wait(self) -> AuthorizationCodeResult:
        """What the browser brought back; the caller's limit ends the wait."""
        assert self._answer is not None
        return await self._answer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), REQUEST_TIMEOUT)
            place = urlsplit(head.split(b" ", 2)[1].decode("ascii", "replace"))
            status = b"404 Not Found"
            if place.path == CALLBACK_PATH:
                status = b"200 OK"
                self._take(parse_qs(place.query))
            body = PAGE if status.startswith(b"200") else b""
            size = str(len(body)).encode()
            writer.write(b"HTTP/1.1 %s\r\nContent-Type: text/html\r\n" % status)
            writer.write(b"Content-Length: %s\r\nConnection: close\r\n\r\n%s" % (size, body))
            await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError):
            pass  # not a browser that comes back: the next one may be
        finally:
            writer.close()

    def _take(self, query: dict[str, list[str]]) -> None:
        if self._answer is None or self._answer.done():
            return
        if "code" in query:
            state, issuer = query.get("state", [None])[0], query.get("iss", [None])[0]
            self._answer.set_result(AuthorizationCodeResult(code=query["code"][0], state=state, iss=issuer))
        else:
            reason = query.get("error", ["no reason given"])[0]
            problem = McpError(f'the sign-in was refused: "{reason[:100]}"', code="ERR_MCP_AUTH", hint="sign in again")
            self._answer.set_exception(problem)

    def close(self) -> None:
        if self._server:
            self._server.close()
        elif self._socket:
            self._socket.close()
