"""List the tools that agents offer, in a model provider's own format. Starts the servers, asks no model."""

from argparse import ArgumentParser, Namespace
from typing import Any

from runtime.cli import bringing_up, tool_listing
from runtime.cli.progress import PlainReport
from runtime.errors import UsageError
from runtime.lifecycle import bring_up
from runtime.masking import Masker


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime tools`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a file, a folder, a glob, or - for standard input")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--agent", metavar="NAME", help="the tools of this agent alone")
    which.add_argument("--client", metavar="NAME", help="the tools of this MCP client, as the server sent them")
    which.add_argument(
        "--from-json", metavar="FILE", help="the tools of a file, as tools/list gives them: nothing is started"
    )
    parser.add_argument(
        "--format", choices=tool_listing.FORMATS, default="table", help="a table for people, or a provider's format"
    )
    parser.add_argument(
        "--report", action="store_true", help="what a provider's format rewrote, weakened or dropped, tool by tool"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, only warnings and errors")
    parser.add_argument("--verbose", action="store_true", help="what servers log, and what is retried")


def run(options: Namespace) -> int:
    """0 when the tools could be listed."""
    if options.from_json is not None:
        if options.paths:
            raise UsageError('"--from-json" takes the place of manifests')
        listed = [("", tool_listing.read_json(options.from_json))]
        tool_listing.show(listed, options, Masker())
        return 0
    if not options.paths:
        raise UsageError("there is nothing to read", hint="give a manifest, or '--from-json FILE'")
    if options.client is not None:
        return _list_client(options)
    return _list_agents(options)


def _list_agents(options: Namespace) -> int:
    checked = bringing_up.read_checked(options)
    if options.agent is not None:
        agents = [bringing_up.find_invocable(checked, options.agent)]
    else:
        agents = bringing_up.invocables(checked)
    resolved = bringing_up.resolve_printed(checked, agents, options)
    masker = Masker(resolved.values.secrets)

    async def main(report: PlainReport) -> int:
        listed = []
        async with bring_up(resolved, report) as live:
            nodes = {node.resource: node for node in resolved.nodes}
            for agent in agents:
                instance = live.instances[nodes[agent]]
                if hasattr(instance, "tools"):
                    bound = await bringing_up.masked(instance.tools(), masker)
                    listed.append((agent.title, [tool_listing.Listed.of(each) for each in bound]))
        tool_listing.show(listed, options, masker)
        return 0

    return bringing_up.run_until_signal(main, options)


def _list_client(options: Namespace) -> int:
    from runtime.cli import clients

    async def ask(client: Any) -> Any:
        return list(await client.list_tools())

    if options.format not in ("table", "json"):
        raise UsageError('"--client" shows what the server sent', hint="leave '--format' out, or take '--format json'")
    if len(options.paths) != 1:
        raise UsageError('"--client" takes one manifest')
    options.path = options.paths[0]
    return clients.with_client(options, ask)
