"""List the resources of one MCP client of a manifest, or read one, as JSON."""

from argparse import ArgumentParser, Namespace
from typing import Any

from runtime.cli import clients
from runtime.mcp import Client


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime resources`."""
    clients.add_arguments(parser)
    parser.add_argument("uri", metavar="URI", nargs="?", help="the resource to read; without it all are listed")
    parser.add_argument("--templates", action="store_true", help="list the templates of resources instead")


def run(options: Namespace) -> int:
    """0 when the server answered."""

    async def ask(client: Client) -> Any:
        if options.uri is not None:
            return await client.request("resources/read", {"uri": options.uri})
        if options.templates:
            return await clients.list_all(client, "resources/templates/list", "resourceTemplates")
        return await clients.list_all(client, "resources/list", "resources")

    return clients.with_client(options, ask)
