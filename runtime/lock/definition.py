"""The definition of a client as its manifest gives it, before any value is put in: what a lock was made for."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import msgspec

from runtime.manifest import Expression, Include, Mapping, Ref, Sequence
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet

CLIENT = "Mcp.Client"
"""The contract of what has an entry in the lock."""
RECORDING = "Runtime.Recording"
"""The contract of what takes the place of clients in tests, and is none by itself."""


def find_clients(resources: ResourceSet) -> dict[str, Resource]:
    """The clients of a set by the keys of their entries: their names, or `Files.client` for an inline one."""
    return {
        client_key(resource): resource
        for resource, entry in resources.known()
        if entry.fits(CLIENT) and not entry.fits(RECORDING) and resource.root.name is not None
    }


def client_key(resource: Resource) -> str:
    """The key of a client's entry in the lock."""
    root = resource.root
    if root is resource:
        return str(resource.name)
    path = next((path for path, value in _walk(root.body, "") if value is resource.body), "")
    return f"{root.name}{path}"


def _walk(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, value
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _walk(item, f"{path}.{key}")
    elif isinstance(value, Sequence):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}[{index}]")


def digest_definition(resource: Resource) -> str:
    """The digest of a resource's kind and fields as they stand in the manifest.

    Expressions and included files enter as they are written, references by name: no value of a secret does, and the
    digest is the same on every machine.
    """
    return sha256(msgspec.json.encode(_define(resource.body, resource), order="deterministic")).hexdigest()


def _define(value: Any, resource: Resource) -> Any:
    if isinstance(value, Mapping):
        fields = {key: _define(item, resource) for key, item in value.items()}
        if value is resource.body and isinstance(resource.entry, Entry):
            fields["kind"] = resource.entry.name  # whatever prefix an import gave it
            fields.pop("metadata", None)
        return fields
    if isinstance(value, Sequence):
        return [_define(item, resource) for item in value]
    if isinstance(value, Ref):
        return {"!ref": value.name}
    if isinstance(value, Include):
        return {"!include-text": str(value)}
    if isinstance(value, Expression):
        return {"!cel": str(value)} if value.is_tagged else str(value)
    return value if isinstance(value, (str, int, float, bool)) else None
