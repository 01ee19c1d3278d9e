"""Runs within runs: what the run of an agent that is another's tool gets to know of the run that asked for it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from typing import Any

from msgspec import Struct

from runtime.ai.contracts import Message
from runtime.ai.events import Answer
from runtime.ai.limits import Budget
from runtime.contracts import Invocable
from runtime.errors import Error

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


async def run_below(target: Invocable, inputs: Mapping[str, Any]) -> Any:
    """What comes of what a tool call runs, as of its `invoke`.

    An error of what tells events, such as an agent, has in its `details` the `steps` that there are, as `Answer` has
    them: the trace of the caller has no other word of them.
    """
    if not hasattr(target, "run"):
        return await target.invoke(inputs)
    answer = Answer()
    try:
        async with aclosing(target.run(inputs)) as events:
            async for event in events:
                answer.add(event)
    except Error as error:
        if answer.steps:
            error.details.setdefault("steps", answer.steps)  # those of the agent that failed, not of one above it
        raise
    return answer.to_json()
