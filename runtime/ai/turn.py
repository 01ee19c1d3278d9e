"""The tool calls of one turn: approved, run at once, and answered in call order."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import anyio
from msgspec import Struct

from runtime.ai.approval import ApprovalRequest, ask_approval
from runtime.ai.call import Call
from runtime.ai.concurrency import run_all, run_in_order
from runtime.ai.contracts import Message, ToolResult
from runtime.ai.events import ToolAnswered
from runtime.ai.results import read_output
from runtime.ai.spans import RunSpans
from runtime.errors import Error, ExpectationError, ToolError

if TYPE_CHECKING:
    from runtime.ai.journal import RunJournal


class ToolRules(Struct, frozen=True):
    """How an agent runs tools; `timeout` is in seconds, None leaves the limit to the provider.

    `longest` is the most characters of a result that the model reads; `approval` has the names and globs of the tools,
    as the agent offers them, whose calls need approval.
    """

    on_error: Literal["feedback", "throw"] = "feedback"
    parallel: int = 32
    timeout: float | None = None
    longest: int = 100_000
    approval: Sequence[str] = ()


async def approve_calls(
    calls: Sequence[Call], rules: ToolRules, agent: str, journal: "RunJournal | None" = None
) -> list[Call]:
    """The calls, those that were refused with a fault; asked for one after the other, before any of the turn runs.

    With `rules.on_error` throw the first refusal is raised: `ToolError` ERR_AGENT_APPROVAL.
    """
    return [await _approve(call, rules, agent, journal) for call in calls]


async def _approve(call: Call, rules: ToolRules, agent: str, journal: "RunJournal | None") -> Call:
    tool, told = call.tool, call.told
    if tool is None or not tool.needs_approval:
        return call
    request = ApprovalRequest(agent, told.id, tool.name, told.arguments)
    decision = await (ask_approval(request) if journal is None else journal.approve(request))
    if decision.is_approved:
        return call
    reason = f": {decision.reason}" if decision.reason else ""
    fault = ToolError(f'the call of the tool "{tool.name}" was not approved{reason}', code="ERR_AGENT_APPROVAL")
    if rules.on_error == "throw":
        raise fault
    return Call(call.wanted, told, fault=fault)


async def run_calls(
    calls: Sequence[Call], rules: ToolRules, spans: RunSpans, journal: "RunJournal | None" = None
) -> AsyncGenerator[ToolAnswered, None]:
    """The answers in call order, each as soon as it and those before it are there; closing ends the calls.

    With `rules.on_error` throw there are all of them or none: the first error is raised and ends the others.
    """
    functions: list[Callable[[], Awaitable[ToolAnswered]]] = [partial(_run, call, rules, spans) for call in calls]
    if journal is not None:
        functions = [partial(journal.call, call, make) for call, make in zip(calls, functions, strict=True)]
    if len(functions) == 1 or rules.on_error == "throw":
        for answer in await run_all(functions, rules.parallel):
            yield answer
        return
    async with aclosing(run_in_order(functions, rules.parallel)) as answers:
        async for answer in answers:
            yield answer


async def _run(call: Call, rules: ToolRules, spans: RunSpans) -> ToolAnswered:
    started = perf_counter()
    told = call.told
    span = spans.begin_tool(told)
    try:
        with span.around(is_tool=True):
            result = await _call(call, rules)
        content = read_output(result.output, rules.longest)
        spans.tell_tool(span, content)
    except Error as error:
        span.fail(error.code)
        if rules.on_error == "throw" or _is_no_fault_of_a_tool(error):
            raise
        content = read_output(error.message, rules.longest)
        rest = [{"steps": error.details["steps"]}] if "steps" in error.details else ()
        return ToolAnswered(told.id, told.name, content, True, error.code, rest, _since(started))
    finally:
        span.end()
    return ToolAnswered(
        told.id, told.name, content, rest=result.rest, duration_ms=_since(started), ends_run=result.ends_run
    )


def _is_no_fault_of_a_tool(error: Error) -> bool:
    """Whether a lock or a cassette is not met; what a task expects of its answer is the task's own matter."""
    return isinstance(error, ExpectationError) and error.code != ExpectationError.code


async def _call(call: Call, rules: ToolRules) -> ToolResult:
    tool = call.tool
    if tool is None:
        raise call.fault or ToolError("the call has no tool")
    arguments = call.told.arguments
    if rules.timeout is None:
        return await tool.call(arguments)
    with anyio.move_on_after(rules.timeout):
        return await tool.call(arguments)
    message = f'the tool "{tool.name}" did not answer within {rules.timeout:g} s'
    raise ToolError(message, code="ERR_TOOL_TIMEOUT", resource=tool.source.label)


def _since(started: float) -> float:
    return round((perf_counter() - started) * 1000, 3)


def answer_message(answer: ToolAnswered, name: str) -> Message:
    """The message that answers a call; `name` is the one that the model used."""
    content = answer.content if isinstance(answer.content, str) else list(answer.content)
    return Message("tool", content, tool_call_id=answer.tool_call_id, name=name, is_error=answer.is_error)
