"""`Ai.Task`: a named piece of work for an agent, with what it is asked and what is expected of the answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from runtime.ai.durable_field import DurableField, DurableRuns, inspect_durable
from runtime.contracts import Invocable
from runtime.json_schema import find_schema_faults
from runtime.kind import FIXED, Context, Fields, Inspection, Kind, Slot, kind, per_call


class Expectation(Fields):
    """What has to hold of the answer; where it does not, the task fails with exit code 5."""

    schema: (
        Annotated[
            dict[str, Any],
            Meta(description="A JSON Schema of the answer's text, read as JSON.", extra_json_schema=FIXED),
        ]
        | UnsetType
    ) = UNSET
    that: Annotated[
        list[Any],
        Meta(
            description="Expressions over `result` that have to be true: `!cel result.steps.size() <= 3`.",
            extra_json_schema=per_call("result"),
        ),
    ] = []


@kind("Ai.Task", implements=Invocable)
class Task(Kind):
    """A named piece of work for an agent: what it is asked, and what is expected of the answer."""

    agent: Slot[Invocable, "Who does the work: an agent, or anything else that can be run."]
    inputs: (
        Annotated[
            dict[str, Any],
            Meta(description="A JSON Schema of what the task itself is given.", extra_json_schema=FIXED),
        ]
        | UnsetType
    ) = UNSET
    prompt: (
        Annotated[
            str,
            Meta(
                description="What is asked; expressions see `inputs`.",
                min_length=1,
                extra_json_schema=per_call(inputs="inputs"),
            ),
        ]
        | UnsetType
    ) = UNSET
    messages: (
        Annotated[
            list[Any],
            Meta(
                description="What is asked as messages, in place of `prompt`; expressions see `inputs`.",
                min_length=1,
                extra_json_schema=per_call(inputs="inputs"),
            ),
        ]
        | UnsetType
    ) = UNSET
    expect: Annotated[Expectation, Meta(description="What has to hold of the answer.")] = Expectation()
    retries: Annotated[
        int,
        Meta(
            description="How often the work is done anew after it failed: for its model, a tool, a limit, or what is"
            " expected of the answer.",
            ge=0,
        ),
    ] = 0
    schedule: (
        Annotated[
            str,
            Meta(
                description="When `runtime worker` and `runtime serve` begin a run by themselves, one of all that are"
                " up: a cron expression in UTC, of minute, hour, day, month and weekday, or of six fields with the"
                " seconds first. Needs `durable`; the task is given no inputs.",
                extra_json_schema=FIXED,
            ),
        ]
        | UnsetType
    ) = UNSET
    durable: DurableField = UNSET

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: schemas that are none; a task that asks nothing, or in two ways."""
        for path, schema in (*inspection.find("inputs"), *inspection.find("expect", "schema")):
            for inside, fault in find_schema_faults(schema):
                inspection.report("SCHEMA_VALUE", (*path, *inside), fault)
        if inspection.has("prompt") and inspection.has("messages"):
            inspection.report("SCHEMA_VALUE", ("messages",), "a task takes `prompt` or `messages`, not both")
        inspect_durable(inspection)
        for path, text in inspection.find("schedule"):
            wrong = _find_schedule_fault(text) if isinstance(text, str) else None
            if wrong is None and not inspection.has("durable"):
                wrong = "a schedule needs `durable`: the store sees to it that one process begins each run"
            if wrong is not None:
                inspection.report("SCHEMA_VALUE", path, wrong)

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Invocable]:
        from runtime.ai.task import task_type

        asked: dict[str, Any] = {}
        if self.prompt is not UNSET:
            asked["prompt"] = self.prompt
        if self.messages is not UNSET:
            asked["messages"] = self.messages
        inputs = self.inputs if isinstance(self.inputs, dict) else None
        schema = self.expect.schema if isinstance(self.expect.schema, dict) else None
        task = task_type(self.agent)(context, self.agent, asked, inputs, schema, self.expect.that, self.retries)
        if not isinstance(self.durable, DurableRuns):
            yield task
            return
        from runtime.ai.kept import make_kept_task, make_task_target, read_rules

        with self.durable.store.host(make_task_target(task, read_rules(self.durable), context.digest)):
            yield make_kept_task(task, self.durable.store, self.schedule if isinstance(self.schedule, str) else "")


def _find_schedule_fault(text: str) -> str | None:
    from runtime.durable.schedules import find_schedule_fault

    return find_schedule_fault(text)
