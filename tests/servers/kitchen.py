"""A server of the official SDK with a bit of everything: `python kitchen.py [http]`; http prints `port N`."""

import socket
import sys
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from pydantic import BaseModel, Field

kitchen = MCPServer("kitchen", version="2.0", instructions="Taste first.")
PNG = bytes.fromhex("89504e470d0a1a0a")


class Weather(BaseModel):
    celsius: float
    words: list[str] = []


class Consent(BaseModel):
    wants_salt: bool = True


@kitchen.tool()
def add(a: int, b: Annotated[int, Field(description="The second one.")] = 2) -> int:
    """Add two numbers."""
    return a + b


@kitchen.tool()
def weather(city: str) -> Weather:
    """The weather."""
    return Weather(celsius=21.5, words=["fine", city])


@kitchen.tool()
def picture() -> list[Image | str]:
    """A picture and a text."""
    return [Image(data=PNG, format="png"), "seen"]


@kitchen.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


@kitchen.tool()
async def count(to: int, context: Context) -> str:
    """Count with progress."""
    for step in range(to):
        await context.report_progress(step, to, f"step {step}")
    return "counted"


@kitchen.tool()
async def season(context: Context) -> str:
    """Ask for consent."""
    answer = await context.elicit("salt?", Consent)
    return f"{answer.action} {answer.data.wants_salt if answer.action == 'accept' else ''}"


@kitchen.resource("note://{name}")
def note(name: str) -> str:
    return f"note of {name}"


@kitchen.resource("note://first")
def first() -> str:
    return "the first note"


@kitchen.prompt()
def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello {name}"


def main(*options: str) -> None:
    if "http" not in options:
        kitchen.run()
        return
    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"port {listener.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(kitchen.streamable_http_app(), log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
