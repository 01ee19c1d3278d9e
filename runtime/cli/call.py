"""Call one tool of one MCP client of a manifest, and print the server's result as JSON."""

from argparse import ArgumentParser, Namespace
from typing import Any

from runtime.cli import clients
from runtime.mcp import Client


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime call`."""
    clients.add_arguments(parser)
    parser.add_argument("tool", metavar="TOOL", help="the tool, by the server's own name")
    parser.add_argument("--args", metavar="JSON", help="its arguments, a JSON object; - reads them from standard input")


def run(options: Namespace) -> int:
    """0 when the tool did its work, 4 when it or the server failed."""
    arguments = clients.read_arguments(options.args)

    async def ask(client: Client) -> Any:
        return await client.call_tool(options.tool, arguments)

    return clients.with_client(options, ask)
