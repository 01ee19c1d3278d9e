"""`Ai.Completion`: one turn of a model, without tools."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from runtime.ai.contracts import Model
from runtime.contracts import Invocable
from runtime.kind import Context, Kind, Slot, kind


@kind("Ai.Completion", implements=Invocable)
class Completion(Kind):
    """One turn of a model, without tools: text in, text out."""

    is_conversational: ClassVar[bool] = True  # `runtime chat` can talk with it

    model: Slot[Model, "The model that is asked."]
    system: Annotated[str, Meta(description="The system text.")] = ""
    options: Annotated[
        Mapping[str, Any],
        Meta(description="Options of the model, such as `temperature`; they go before those on the model itself."),
    ] = {}

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Invocable]:
        from runtime.ai.agent import Agent
        from runtime.ai.run import RunRules

        rules = RunRules(system=self.system, options=self.options, max_steps=1, on_max_steps="return")
        yield Agent(context.name, self.model, (), rules, context.warn, context.mask)
