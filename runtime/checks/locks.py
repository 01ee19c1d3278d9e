"""The lock beside the manifests: whether it fits them, and which tools it makes known."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from runtime.checks.findings import Findings
from runtime.diagnostics import Diagnostic
from runtime.known_tools import KnownTool
from runtime.lock.contents import Lock, LockedTool, LockError
from runtime.lock.definition import digest_definition, find_clients
from runtime.lock.reader import read_lock
from runtime.resource_set import Resource, ResourceSet
from runtime.version import VERSION

HINT = 'run "runtime lock" and commit the file'


def check_lock(path: str, resources: ResourceSet, findings: Findings, *, locked: bool) -> Lock | None:
    """The lock at a path. LOCK_MISSING and LOCK_STALE where it is `locked`; YAML_SYNTAX for what is no lock.

    The latter stands in the lock itself, at the start of the first line at fault.
    """
    try:
        lock = read_lock(path)
    except LockError as error:
        message = f"this is no lock: {error.message}"
        findings.diagnostics.append(Diagnostic(path, error.line, 1, "YAML_SYNTAX", message, HINT))
        return None
    if locked:
        for key, client in find_clients(resources).items():
            _check_client(key, client, lock, path, findings)
    return lock


def _check_client(key: str, client: Resource, lock: Lock | None, path: str, findings: Findings) -> None:
    if lock is None:
        findings.report(client, _place(client), "LOCK_MISSING", f'there is no lock "{path}" for "{key}"', HINT)
    elif key not in lock.servers:
        findings.report(client, _place(client), "LOCK_MISSING", f'"{key}" is not in the lock "{path}"', HINT)
    elif lock.servers[key].definition != digest_definition(client):
        message = f'the definition of "{key}" has changed since it was locked'
        findings.report(client, _place(client), "LOCK_STALE", message, HINT)


def _place(client: Resource) -> int:
    """Where a client is named, or says its kind where it has no name of its own."""
    key = "name" if client.owner is None else "kind"
    container: Any = client.body["metadata"] if client.owner is None else client.body
    place: int = container.places[key][1]
    return place


def find_locked_tools(lock: Lock, resources: ResourceSet) -> Mapping[Resource, Sequence[KnownTool]]:
    """The tools of the clients whose definition is still what it was when it was locked."""
    knows_losses = lock.runtime == VERSION
    return {
        client: [_known(tool, knows_losses) for tool in lock.servers[key].tools.values()]
        for key, client in find_clients(resources).items()
        if key in lock.servers and lock.servers[key].definition == digest_definition(client)
    }


def _known(tool: LockedTool, knows_losses: bool) -> KnownTool:
    return KnownTool(tool.name, partial(_fields, tool), tool.lossy_for if knows_losses else None)


def _fields(tool: LockedTool) -> Mapping[str, Any]:
    try:
        return tool.fields
    except LockError:
        return {}  # "runtime lock --check" tells who tampered with it
