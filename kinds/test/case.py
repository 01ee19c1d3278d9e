"""`Test.Case`: what an agent or a task is asked, what answers in the place of models and servers, what is expected."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from kinds.test.expectations import Expectations
from kinds.test.recordings import CassetteUse, report_pointer_faults
from runtime.ai.contracts import Model
from runtime.contracts import Invocable
from runtime.errors import StartError
from runtime.json_schema import find_schema_faults
from runtime.kind import FIXED, NAMES, Context, Inspection, Kind, Slot, kind
from runtime.mcp.contracts import Client
from runtime.testing.contracts import Case

ASKED = ("prompt", "messages", "inputs")


@kind("Test.Case", implements=Case)
class DeclaredCase(Kind):
    """One run of an agent or a task whose outcome is known beforehand; `runtime test` runs it.

    With `model`, `mcp` and `cassette` it needs no key, no network and no server.
    """

    agent: (
        Slot[Invocable, "Who is asked `prompt` or `messages`: an agent, or anything else that can be run."] | UnsetType
    ) = UNSET
    task: Slot[Invocable, "What is run in the place of an agent: a task, which knows what to ask."] | UnsetType = UNSET
    prompt: Annotated[str, Meta(description="What is asked.", min_length=1)] | UnsetType = UNSET
    messages: (
        Annotated[list[Any], Meta(description="What is asked as messages, in place of `prompt`.", min_length=1)]
        | UnsetType
    ) = UNSET
    inputs: (
        Annotated[dict[str, Any], Meta(description="What a task is given, or whatever else is run.")] | UnsetType
    ) = UNSET
    model: (
        Slot[Model, "What answers in the place of every model that is asked: a scripted one, or a cassette."]
        | UnsetType
    ) = UNSET
    mcp: Annotated[
        dict[str, Slot[Client, "What answers in the place of that client: a scripted server, or a cassette."]],
        Meta(
            description="Clients that others take the place of, by name; under its own name a client stays live.",
            extra_json_schema=NAMES,
        ),
    ] = {}
    cassette: (
        Annotated[
            str | CassetteUse,
            Meta(
                description="A recording that answers for the rest: its folder, beside the manifest.",
                extra_json_schema=FIXED,
            ),
        ]
        | UnsetType
    ) = UNSET
    approve: Annotated[
        list[str],
        Meta(description="Tools whose calls are approved: names or globs. All others that ask for it are refused."),
    ] = []
    timeout_ms: Annotated[int, Meta(description="Milliseconds after which the case has failed.", ge=1)] = 60_000
    expect: Annotated[Expectations, Meta(description="What has to hold of what was run.")] = Expectations()

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE and SCHEMA_REQUIRED: who is asked what; clients that are none; expectations that say nothing."""
        _inspect_work(inspection)
        clients = inspection.named("Mcp.Client")
        for path, _ in inspection.find("mcp", "*", expressions=True):
            if path[-1] not in clients:
                hint = f"the clients are: {', '.join(clients)}" if clients else "the set has none"
                inspection.report("SCHEMA_VALUE", path, f'the set has no client "{path[-1]}"', hint)
        for path, schema in inspection.find("expect", "schema"):
            for inside, fault in find_schema_faults(schema):
                inspection.report("SCHEMA_VALUE", (*path, *inside), fault)
        for path, _ in inspection.find("expect", "that", "*"):
            hint = "write `!cel result.text == ...`"
            inspection.report("SCHEMA_VALUE", path, "a condition is an expression", hint)
        for path, pattern in inspection.find("expect", "text", "regex"):
            try:
                re.compile(pattern) if isinstance(pattern, str) else None
            except (re.error, RecursionError, OverflowError) as error:
                inspection.report("SCHEMA_VALUE", path, f"'{pattern}' is no regular expression: {error}")
        report_pointer_faults(inspection, "cassette", "ignore")

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Case]:
        from runtime.testing.case import LiveCase, Work

        asked = {name: value for name in ASKED if not isinstance(value := getattr(self, name), UnsetType)}
        inputs = {**asked.pop("inputs", {}), **asked}
        target = self.task if isinstance(self.agent, UnsetType) else self.agent
        if isinstance(target, UnsetType):
            raise StartError("a case needs `agent` or `task`: who does the work", resource=context.name)
        work = Work(target, inputs, self.approve, self.timeout_ms / 1000)
        yield LiveCase(context, work, self.expect)


def _inspect_work(inspection: Inspection) -> None:
    given = [field for field in ("agent", "task") if inspection.has(field)]
    if len(given) == 2:
        inspection.report("SCHEMA_VALUE", ("task",), "a case has `agent` or `task`, not both")
    asked = [field for field in ASKED[:2] if inspection.has(field)]
    if len(asked) == 2:
        inspection.report("SCHEMA_VALUE", ("messages",), "a case asks by `prompt` or by `messages`, not both")
    if not given:
        inspection.report("SCHEMA_REQUIRED", ("kind",), "a case needs `agent` or `task`: who does the work")
    elif given == ["agent"] and not any(inspection.has(field) for field in ASKED):
        inspection.report("SCHEMA_REQUIRED", ("agent",), "a case needs `prompt` or `messages`: what is asked")
