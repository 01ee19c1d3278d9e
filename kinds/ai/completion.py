"""`Ai.Completion`: one turn of a model, without tools."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta

from runtime.ai.contracts import Model
from runtime.ai.output_fields import OutputField, make_output_rule, report_output_faults
from runtime.contracts import Invocable
from runtime.kind import Context, Inspection, Kind, Slot, kind


@kind("Ai.Completion", implements=Invocable)
class Completion(Kind):
    """One turn of a model, without tools: text in, text out, or a JSON value where `output` gives its form."""

    is_conversational: ClassVar[bool] = True  # `runtime chat` can talk with it

    model: Slot[Model, "The model that is asked."]
    system: Annotated[str, Meta(description="The system text.")] = ""
    options: Annotated[
        Mapping[str, Any],
        Meta(description="Options of the model, such as `temperature`; they go before those on the model itself."),
    ] = {}
    output: OutputField = UNSET

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: an `output.schema` that is no JSON Schema, at the faulty place."""
        report_output_faults(inspection)

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Invocable]:
        from runtime.ai.agent import Agent
        from runtime.ai.run import RunRules

        output = make_output_rule(self.output, context)
        turns = 1 if output is None else 2  # one more, to mend an answer that is not of the form
        rules = RunRules(
            system=self.system, options=self.options, max_steps=turns, on_max_steps="return", output=output
        )
        yield Agent(context.name, self.model, (), rules, context.warn, context.mask)
