"""What of a live set is offered to callers."""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.masking import Masker
from runtime.reconcile import Generation
from runtime.registry import Entry
from runtime.resolver import Node

INVOCABLE = "Runtime.Invocable"


class ServedGraph:
    """A live set: `invocables` are what can be run, by name; `agents` those of them that converse."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self.live = live = generation.live
        self.masker = Masker(live.resolved.values.secrets)
        named = [node for node in live.resolved.nodes if node.resource.owner is None]
        self.invocables: Mapping[str, Any] = {
            str(node.resource.name): live.instances[node] for node in named if _fits(node.resource.entry, INVOCABLE)
        }
        self.agents: Mapping[str, Any] = {
            str(node.resource.name): live.instances[node]
            for node in named
            if getattr(node.entry.cls, "is_conversational", False)
        }

    @property
    def stores(self) -> Sequence[Any]:
        """The stores that keep runs (`runtime.durable.contracts.Store`)."""
        return [self.live.instances[node] for node in self.nodes if _fits(node.entry, "Durable.Store")]

    def describe(self, name: str) -> str:
        """What a named resource says of itself: `metadata.description`."""
        node = self.live.resolved.find(name)
        metadata = node.resource.body.get("metadata") if node is not None else None
        told = metadata.get("description") if isinstance(metadata, dict) else None
        return self.masker(told) if type(told) is str else f"Asks the agent {name}."

    @property
    def nodes(self) -> Sequence[Node]:
        """Everything that is live, each after what it needs."""
        return self.live.resolved.nodes


def _fits(entry: Any, contract: str) -> bool:
    return isinstance(entry, Entry) and entry.fits(contract)
