"""Start the MCP servers of a set, read their tools, and write them into `runtime.lock`, or tell what has changed."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from runtime.cli import bringing_up
from runtime.cli.lock_arguments import add_lock_argument
from runtime.cli.output import encodable, print_json
from runtime.cli.progress import PlainReport
from runtime.errors import ExpectationError, StartError
from runtime.lifecycle import Live, bring_up
from runtime.lock.comparison import Difference, compare_locks, describe, find_edits
from runtime.lock.contents import Lock, LockedServer, LockError
from runtime.lock.definition import digest_definition, find_clients
from runtime.lock.listing import lock_server
from runtime.lock.place import lock_path
from runtime.lock.reader import read_lock
from runtime.lock.writer import write_lock
from runtime.masking import Masker
from runtime.resource_set import Resource
from runtime.version import VERSION

HINT = 'look at what has changed, then run "runtime lock" and commit the file'


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime lock`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, a glob, or - for standard input")
    parser.add_argument("--check", action="store_true", help="write nothing; tell what differs, with exit code 5")
    add_lock_argument(parser)
    parser.add_argument("--output", choices=("text", "json"), default="text", help="for people, or as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress, only warnings and errors")
    parser.add_argument("--verbose", action="store_true", help="what servers log, and what is retried")


def run(options: Namespace) -> int:
    """0; with `--check` 5 where something differs."""
    checked = bringing_up.read_checked(options)
    path = options.lock or lock_path(checked.sources, checked.resources)
    old = _read_old(path, options)
    clients = find_clients(checked.resources)
    resolved = bringing_up.resolve_printed(checked, list(clients.values()), options)
    masker = Masker(resolved.values.secrets)

    async def main(report: PlainReport) -> int:
        async with bring_up(resolved, report) as live:
            servers = await _ask(live, clients, old, masker, report)
        new = Lock(path, VERSION, servers)
        return _check(old, new, options) if options.check else _write(old, new, options)

    return bringing_up.run_until_signal(main, options)


def _read_old(path: str, options: Namespace) -> Lock | None:
    """The lock as it is; one that cannot be read is no hindrance to writing it anew."""
    try:
        old = read_lock(path)
    except LockError as error:
        if options.check:
            raise _unreadable(path, error) from error
        return None
    if old is None and options.check:
        raise ExpectationError(f'there is no lock "{path}"', code="ERR_LOCK", hint='"runtime lock" writes it')
    return old


async def _ask(
    live: Live, clients: Mapping[str, Resource], old: Lock | None, masker: Masker, report: PlainReport
) -> dict[str, LockedServer]:
    """The entries of the servers that are there; of an optional one that is not, the entry that the lock had."""
    nodes = {node.resource: node for node in live.resolved.nodes}
    servers: dict[str, LockedServer] = {}
    for key, resource in clients.items():
        client = live.instances[nodes[resource]]
        listed = await bringing_up.masked(client.list_tools(), masker)
        if client.server is not None:
            servers[key] = lock_server(key, digest_definition(resource), client.server, listed, masker)
        elif old is not None and key in old.servers:
            servers[key] = old.servers[key]
            report.warn(key, "the server is not there; its entry in the lock stays as it was")
        else:
            raise StartError("the server is not there, so there is nothing to lock", resource=key)
    return servers


def _check(old: Lock | None, new: Lock, options: Namespace) -> int:
    known = old.servers if old is not None else {}
    try:
        differences = [*compare_locks(known, new.servers), *find_edits(known)]
    except LockError as error:
        raise _unreadable(new.path, error) from error
    if options.output == "json":
        print_json({"ok": not differences, "lock": new.path, "differences": [each.as_data() for each in differences]})
    elif differences or not options.quiet:
        _print_differences(differences)
        print(f"{new.path}: {_counted(len(differences), 'difference')}")
    if differences:
        print(f"    hint: {HINT}", file=sys.stderr)
    return 5 if differences else 0


def _write(old: Lock | None, new: Lock, options: Namespace) -> int:
    try:
        differences = compare_locks(old.servers, new.servers) if old is not None else []
    except LockError:
        differences = []  # whoever tampered with the old lock, it ends here
    write_lock(new)
    tools = sum(len(server.tools) for server in new.servers.values())
    if options.output == "json":
        servers = {key: len(server.tools) for key, server in new.servers.items()}
        print_json({"lock": new.path, "tools": servers, "differences": [each.as_data() for each in differences]})
    elif not options.quiet:
        _print_differences(differences)
        print(f"{new.path}: {_counted(len(new.servers), 'server')}, {_counted(tools, 'tool')}")
    return 0


def _unreadable(path: str, error: LockError) -> ExpectationError:
    return ExpectationError(
        f'"{path}" is no lock: line {error.line}: {error.message}',
        code="ERR_LOCK",
        hint='"runtime lock" writes it anew',
    )


def _print_differences(differences: Sequence[Difference]) -> None:
    for found in differences:
        for line in describe(found):
            print(encodable(line, sys.stdout))


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
