"""List the tools that agents offer, in a model provider's own format. Starts the servers, asks no model."""

from argparse import ArgumentParser, Namespace
from typing import Any

from runtime.cli import bringing_up
from runtime.cli.output import print_json
from runtime.cli.progress import PlainReport
from runtime.lifecycle import bring_up
from runtime.masking import Masker
from runtime.resource_set import Resource

FORMATS = ("table", "json", "openai", "openai-responses", "anthropic", "gemini", "gemini-parameters")


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime tools`."""
    bringing_up.add_arguments(parser)
    parser.add_argument("--format", choices=FORMATS, default="table", help="a table for people, or a provider's format")


def run(options: Namespace) -> int:
    """0 when the tools could be listed."""
    checked = bringing_up.read_checked(options)
    if options.agent is not None:
        agents = [bringing_up.find_invocable(checked, options.agent)]
    else:
        agents = bringing_up.invocables(checked)
    resolved = bringing_up.resolve_printed(checked, agents, options)
    masker = Masker(resolved.values.secrets)

    async def main(report: PlainReport) -> int:
        async with bring_up(resolved, report) as live:
            nodes = {node.resource: node for node in resolved.nodes}
            listed = []
            for agent in agents:
                instance = live.instances[nodes[agent]]
                if hasattr(instance, "tools"):
                    listed.append((agent, await instance.tools()))
            _print(listed, options.format, masker)
        return 0

    return bringing_up.run_until_signal(main, options)


def _print(listed: list[tuple[Resource, Any]], form: str, masker: Masker) -> None:
    if form == "table":
        for agent, tools in listed:
            print(f"{agent.title}: {len(tools)} tools")
            width = max((len(tool.name) for tool in tools), default=0)
            for tool in tools:
                print(masker(f"  {tool.name:<{width}}  {_first_line(tool.tool.description)}").rstrip())
    elif form == "json":
        print_json([{"agent": agent.title, "tools": [_as_data(tool) for tool in tools]} for agent, tools in listed])
    else:
        from runtime.ai.contracts import Tool
        from runtime.ai.formats import convert

        offered = [
            Tool(tool.name, tool.tool.description, tool.tool.parameters) for _, tools in listed for tool in tools
        ]
        print_json(convert(offered, form).payload)


def _as_data(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.tool.description,
        "parameters": tool.tool.parameters,
        "provider": tool.source.label,
        "tool": tool.tool.name,
    }


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 100 else line[:99] + "…"
