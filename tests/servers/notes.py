"""An MCP server of the official SDK over Streamable HTTP, which asks for a bearer token: `python notes.py TOKEN`."""

import socket
import sys
from typing import Any

import uvicorn
from mcp.server import MCPServer

notes = MCPServer("notes", version="1.0.0")


@notes.tool()
def search_notes(text: str) -> str:
    """Find the notes that hold a text."""
    return f'One note holds "{text}": the heron is back.'


@notes.tool()
def delete_note(number: int) -> str:
    """Delete a note."""
    return f"note {number} is gone"


class Guarded:
    """The server behind a token."""

    def __init__(self, app: Any, token: str) -> None:
        self.app = app
        self.wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != self.wanted:
            await send({"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]})
            await send({"type": "http.response.body", "body": b"who are you"})
        else:
            await self.app(scope, receive, send)


def main(token: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"port {listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(Guarded(notes.streamable_http_app(), token), log_level="warning")
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
