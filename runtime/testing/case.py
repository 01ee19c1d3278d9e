"""A live case: it runs its work once, and says what of it is not as expected."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

import anyio
from msgspec import Struct

from runtime.ai.approval import ApprovalRequest, Decision, approvals_by
from runtime.ai.events import Answer
from runtime.ai.selection import make_filter
from runtime.contracts import Invocable
from runtime.errors import Error
from runtime.kind import Context
from runtime.testing.contracts import Failure, Verdict
from runtime.testing.expecting import Rules, find_failures


class Work(Struct, frozen=True):
    """What is run, with what, which tools are approved meanwhile, and for how many seconds at most."""

    target: Invocable
    inputs: Mapping[str, Any]
    approved: Sequence[str]
    timeout: float


class LiveCase:
    """Keeps the contract `Runtime.Case`."""

    def __init__(self, context: Context, work: Work, rules: Rules) -> None:
        self.name = context.name
        self._context = context
        self._work = work
        self._rules = rules

    async def verify(self) -> Verdict:
        done = await self._run(self._work.inputs)
        if isinstance(done, Failure):
            return Verdict([done])
        result, error = done
        return Verdict(list(find_failures(self._rules, result, error, self._context.evaluate)), result)

    async def answer(self, inputs: Mapping[str, Any]) -> Verdict:
        """Do the work with other inputs, and expect nothing."""
        done = await self._run(inputs)
        return Verdict([done]) if isinstance(done, Failure) else Verdict([], done[0])

    async def _run(self, inputs: Mapping[str, Any]) -> tuple[Any, Error | None] | Failure:
        is_approved = make_filter(self._work.approved)

        async def decide(request: ApprovalRequest) -> Decision:
            return Decision(is_approved(request.tool), "the case does not approve it")

        with approvals_by(decide), anyio.move_on_after(self._work.timeout):
            return await run_work(self._work.target, inputs)
        return Failure("timeoutMs", f"the case is not done after {self._work.timeout:g} s")


async def run_work(target: Any, inputs: Mapping[str, Any]) -> tuple[Any, Error | None]:
    """What comes of a run: its result, or `{text, steps, error: {code, message}}` beside the error that ended it."""
    answer = Answer()
    try:
        if not hasattr(target, "run"):
            return await target.invoke(inputs), None
        async with aclosing(target.run(inputs)) as events:
            async for event in events:
                answer.add(event)
        return answer.to_json(), None
    except Error as error:
        told = {"code": error.code, "message": error.message}
        text = answer.steps[-1]["text"] if answer.steps else ""
        return {"text": text, "steps": answer.steps, "error": told}, error
