"""Calls of which nobody knows whether they were carried out: somebody outside of the run decides what to do."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from msgspec import Struct

from runtime.durable.contracts import Decision


class UncertainCall(Struct, frozen=True):
    """A tool call that was under way when its process died: the agent, the run, the step, the tool, its arguments."""

    agent: str
    run: str
    step: int
    tool: str
    arguments: Mapping[str, Any]


Asker = Callable[[UncertainCall], Awaitable[Decision | None]]

_ASKER: ContextVar[Asker | None] = ContextVar("uncertain", default=None)


@contextmanager
def uncertain_by(asker: Asker) -> Iterator[None]:
    """Within the block `asker` is asked for the kept runs that are carried on there; by its None a run waits."""
    token = _ASKER.set(asker)
    try:
        yield
    finally:
        _ASKER.reset(token)


async def ask_uncertain(call: UncertainCall) -> Decision | None:
    """What the asker of this context says; without one, nothing."""
    asker = _ASKER.get()
    return await asker(call) if asker is not None else None
