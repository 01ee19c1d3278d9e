"""Which resources of a set are its border: what they do is recorded, and played back without them."""

from runtime.changes import find_needs
from runtime.lock.definition import RECORDING, client_key
from runtime.registry import Entry
from runtime.resource_set import Resource, ResourceSet

CLIENT, MODEL, PROVIDER, INVOCABLE = "Mcp.Client", "Ai.Model", "Ai.ToolProvider", "Runtime.Invocable"
CONTRACTS = (CLIENT, MODEL, PROVIDER, INVOCABLE)


class Border:
    """One resource of the border: `key` names its recording, `contract` is what is recorded of it."""

    def __init__(self, key: str, contract: str) -> None:
        self.key = key
        self.contract = contract


def find_borders(resources: ResourceSet) -> dict[Resource, Border]:
    """Every MCP client, and whatever else is a model, a provider of tools or can be run and uses nothing of the kind.

    So a model that asks other models is no border, and they are; an agent never is one.
    """
    uses: dict[Resource, bool] = {}
    borders = {}
    for resource, _ in resources.known():
        contract = find_contract(resource)
        if contract is not None and (contract == CLIENT or not _uses_any(resource, resources, uses)):
            borders[resource] = Border(client_key(resource), contract)
    return borders


def find_contract(resource: Resource) -> str | None:
    """The contract that is recorded of a resource, were it on the border."""
    entry = resource.entry
    if not isinstance(entry, Entry) or is_recording(resource):
        return None
    return next((contract for contract in CONTRACTS if entry.fits(contract)), None)


def is_recording(resource: Resource) -> bool:
    """Whether a resource is a recording itself, which takes the place of others."""
    return isinstance(resource.entry, Entry) and resource.entry.fits(RECORDING)


def _uses_any(resource: Resource, resources: ResourceSet, known: dict[Resource, bool]) -> bool:
    """Whether something that keeps one of the contracts is below a resource; the checks leave no circles."""
    if resource not in known:
        known[resource] = any(
            find_contract(needed) is not None or _uses_any(needed, resources, known)
            for needed in find_needs(resource, resources)
        )
    return known[resource]
