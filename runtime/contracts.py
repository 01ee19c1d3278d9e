"""Contracts: what a slot of a manifest can ask for, whatever kind fills it.

A contract is a Protocol with a name that manifests use. `Runtime.Invocable` is here because every domain has kinds that
can be run; the contracts of a domain stand in its own `contracts.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

C = TypeVar("C", bound=type)


def contract(name: str) -> Callable[[C], C]:
    """Give a Protocol the name by which slots ask for it, such as `Mcp.Client`."""

    def named(cls: C) -> C:
        cls.__contract__ = name  # type: ignore[attr-defined]  # an attribute, not a member of the protocol
        return cls

    return named


@contract("Runtime.Invocable")
class Invocable(Protocol):
    """What a target or a tool can run: an agent, a task, a tool call."""

    async def invoke(self, inputs: Mapping[str, Any]) -> Any:
        """Run once with JSON values for inputs; the answer is a JSON value.

        Raises `runtime.errors.Error` when the run fails.
        """
