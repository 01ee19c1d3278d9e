"""Kinds of our own for tests of the engine: for `imports: { Test: ./kinds.py }` in a manifest beside a copy of this."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal, Protocol

import anyio
from msgspec import Meta, field

from runtime import Context, Error, Kind, Slot, kind, per_call
from runtime.contracts import contract

EVENTS: dict[str, anyio.Event] = {}


def event(name: str) -> anyio.Event:
    return EVENTS.setdefault(name, anyio.Event())


class StepError(Error):
    """What a step fails with."""

    code = "ERR_TEST_STEP"


@contract("Test.Thing")
class Thing(Protocol):
    """Anything of these tests."""


@kind("Test.Step", implements=Thing)
class Step(Kind):
    """Opens after what it needs, and tells the log what happens to it."""

    needs: list[Slot[Thing, "What has to be open before."]] = field(default_factory=list)  # noqa: F722
    wait_for: str = ""
    fails: Literal["", "at open", "with a bug", "in a group", "at close", "while open"] = ""
    message: str = "the step gave way"
    text: str = ""
    number: int = 0
    data: Any = None
    call: Annotated[Any, Meta(extra_json_schema=per_call(arguments="parameters"))] = None
    parameters: dict[str, Any] = field(default_factory=dict)

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator["OpenStep"]:
        event(f"{context.name} starts").set()
        if self.wait_for:
            try:
                await event(self.wait_for).wait()
            except BaseException:
                context.log("was cancelled")
                raise
        if self.fails == "at open":
            raise StepError(self.message, hint=f"see {self.message}")
        if self.fails == "with a bug":
            raise ZeroDivisionError(self.message)
        if self.fails == "in a group":
            async with anyio.create_task_group() as group:
                group.start_soon(self._fail)
        context.log("opened")
        try:
            async with anyio.create_task_group() as group:
                if self.fails == "while open":
                    group.start_soon(self._fail_later, context.name)
                yield OpenStep(self, context)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                context.log("closed")
        if self.fails == "at close":
            raise StepError(self.message)

    async def _fail(self) -> None:
        raise StepError(self.message)

    async def _fail_later(self, name: str) -> None:
        await event(f"{name} is to fail").wait()
        raise StepError(self.message)


class OpenStep:
    """A live step: its own fields, and those of what it needs."""

    def __init__(self, step: Step, context: Context) -> None:
        self.step = step
        self.context = context

    def evaluate(self, **scope: Any) -> Any:
        return self.context.evaluate(self.step.call, scope)
