"""Runs within runs: what the run of an agent that is another's tool gets to know of the run that asked for it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from runtime.ai.contracts import Message
from runtime.ai.limits import Budget

_CALLER: ContextVar["Caller | None"] = ContextVar("caller", default=None)


class Caller(Struct, frozen=True):
    """The run whose tool calls are under way; what is spent for them counts in its `budget`.

    `messages` are its conversation up to the turn that wants the calls.
    """

    budget: Budget
    messages: Sequence[Message] = ()


def find_caller() -> Caller | None:
    """The run for one of whose tool calls this task works; None where there is no such run."""
    return _CALLER.get()


@contextmanager
def calling(caller: Caller) -> Iterator[None]:
    """While the block runs, it and the tasks that it starts work for tool calls of a run."""
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)
