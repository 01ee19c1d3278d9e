"""Approval: somebody outside of the run decides whether a tool call is made."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from msgspec import Struct


class ApprovalRequest(Struct, frozen=True):
    """A tool call that waits: the agent, the call's id, the tool as the agent offers it, what the tool would get."""

    agent: str
    id: str
    tool: str
    arguments: Mapping[str, Any]


class Decision(Struct, frozen=True):
    """The answer to a request; the model reads the `reason` of a refusal."""

    is_approved: bool
    reason: str = ""


Approver = Callable[[ApprovalRequest], Awaitable[Decision]]

_APPROVER: ContextVar[Approver | None] = ContextVar("approver", default=None)


@contextmanager
def approvals_by(approver: Approver) -> Iterator[None]:
    """Within the block `approver` is asked for the runs that are carried on there, and for those of their sub-agents.

    A context variable and no argument of a run: what runs an agent, such as a task or another agent's tool, knows
    nothing of approval. Runs at the same time may ask at the same time; each run asks for one call after the other.
    """
    token = _APPROVER.set(approver)
    try:
        yield
    finally:
        _APPROVER.reset(token)


async def ask_approval(request: ApprovalRequest) -> Decision:
    """What the approver of this context says; without one, no."""
    approver = _APPROVER.get()
    return await approver(request) if approver is not None else Decision(False, "there is nobody to ask")
