"""List the prompts of one MCP client of a manifest, or get one, as JSON."""

from argparse import ArgumentParser, Namespace
from typing import Any

from runtime.cli import clients
from runtime.mcp import Client


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime prompts`."""
    clients.add_arguments(parser)
    parser.add_argument("name", metavar="NAME", nargs="?", help="the prompt to get; without it all are listed")
    parser.add_argument("--args", metavar="JSON", help="its arguments, a JSON object; - reads them from standard input")


def run(options: Namespace) -> int:
    """0 when the server answered."""
    arguments = clients.read_arguments(options.args)

    async def ask(client: Client) -> Any:
        if options.name is None:
            return await clients.list_all(client, "prompts/list", "prompts")
        return await client.request("prompts/get", {"name": options.name, "arguments": arguments})

    return clients.with_client(options, ask)
