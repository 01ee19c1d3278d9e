"""What the commands that speak with one MCP server share: the client of a manifest, its pages, JSON arguments."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from runtime.cli import bringing_up
from runtime.cli.output import print_json
from runtime.cli.progress import PlainReport
from runtime.errors import UsageError
from runtime.lifecycle import bring_up
from runtime.masking import Masker, mask_json
from runtime.mcp import Client
from runtime.registry import Entry

CONTRACT = "Mcp.Client"
MOST_PAGES = 100


def add_arguments(parser: ArgumentParser) -> None:
    """The manifest and the client, by place; and what every command that starts something takes."""
    parser.add_argument("path", metavar="PATH", help="a file, a folder, a glob, or - for standard input")
    parser.add_argument("client", metavar="CLIENT", help="the name of an MCP client of the set")
    parser.add_argument("--quiet", action="store_true", help="no progress, only warnings and errors")
    parser.add_argument("--verbose", action="store_true", help="what the server logs, and what is retried")


def with_client(options: Namespace, ask: Callable[[Client], Awaitable[Any]]) -> int:
    """Start one client of the set and what it needs, print as JSON what `ask` gives, stop it.

    0; or 4 where the answer is a tool's result that says it is an error.
    """
    options.paths = [options.path]
    checked = bringing_up.read_checked(options)
    found = [
        resource
        for resource, entry in checked.resources.known()
        if resource.owner is None and isinstance(entry, Entry) and entry.fits(CONTRACT)
    ]
    client = next((resource for resource in found if resource.name == options.client), None)
    if client is None:
        names = ", ".join(str(resource.name) for resource in found)
        hint = f"there are: {names}" if names else "the set has none"
        raise UsageError(f'there is no MCP client "{options.client}"', hint=hint)
    resolved = bringing_up.resolve_printed(checked, [client], options)
    masker = Masker(resolved.values.secrets)

    async def main(report: PlainReport) -> int:
        async with bring_up(resolved, report) as live:
            answer = await bringing_up.masked(ask(live[options.client]), masker)
        print_json(mask_json(answer, masker))
        return 4 if isinstance(answer, Mapping) and answer.get("isError") is True else 0

    return bringing_up.run_until_signal(main, options)


async def list_all(client: Client, method: str, field: str) -> list[Any]:
    """What a listing has on all its pages; it ends at a cursor that was there before, and after a hundred pages."""
    items: list[Any] = []
    seen: set[str] = set()
    cursor: Any = None
    while len(seen) < MOST_PAGES:
        page = await client.request(method, {} if cursor is None else {"cursor": cursor})
        part = page.get(field)
        items += part if isinstance(part, list) else []
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or cursor in seen:
            break
        seen.add(cursor)
    return items


def read_arguments(text: str | None) -> dict[str, Any]:
    """The JSON object of `--args`, from standard input where it is `-`; UsageError where it is none."""
    import msgspec

    if text is None:
        return {}
    data = sys.stdin.buffer.read() if text == "-" else text.encode("utf-8", "surrogateescape")
    try:
        value = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise UsageError(f'"--args" is not JSON: {error}') from error
    if not isinstance(value, dict):
        raise UsageError('"--args" takes a JSON object', hint="""write '{"name": "value"}'""")
    return value
