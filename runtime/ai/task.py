"""A task: an agent's run with what it is asked, and what has to hold of its answer."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.ai.formats.checking.faults import find_faults
from runtime.contracts import Invocable
from runtime.errors import AgentError, ExpectationError
from runtime.kind import Context


class Task:
    """A live task. What it is given fills what it asks (`asked`: `prompt` or `messages`, with expressions)."""

    def __init__(
        self,
        context: Context,
        worker: Invocable,
        asked: Mapping[str, Any],
        inputs: Mapping[str, Any] | None,
        schema: Mapping[str, Any] | None,
        conditions: Sequence[Any],
    ) -> None:
        self.name = context.name
        self._context = context
        self._worker = worker
        self._asked = asked
        self._inputs = inputs
        self._schema = schema
        self._conditions = conditions

    async def invoke(self, inputs: Mapping[str, Any]) -> Any:
        """Do the work once and give the worker's answer.

        Raises AgentError ERR_AGENT_INPUT for inputs that do not fit the task's schema, ExpectationError where the
        answer is not what is expected, and whatever the worker raises.
        """
        given = dict(inputs)
        if self._inputs is not None:
            faults = find_faults(self._inputs, given)
            if faults:
                raise AgentError(f"the task's inputs do not fit: {'; '.join(map(str, faults))}", resource=self.name)
        asked = self._context.evaluate(dict(self._asked), {"inputs": given})
        result = await self._worker.invoke(asked or given)
        self._check(result)
        return result

    def _check(self, result: Any) -> None:
        for number, condition in enumerate(self._conditions, 1):
            held = self._context.evaluate(condition, {"result": result})
            if held is not True:
                shown = condition.strip() if isinstance(condition, str) else f"condition {number}"
                raise self._unmet(f'"{shown}" does not hold of the answer', result)
        if self._schema is None:
            return
        text = result.get("text") if isinstance(result, Mapping) else None
        try:
            value = msgspec.json.decode(text) if isinstance(text, str) else result
        except msgspec.DecodeError as error:
            raise self._unmet("the answer is not JSON", result) from error
        faults = find_faults(self._schema, value)
        if faults:
            raise self._unmet(f"the answer does not fit the expected schema: {'; '.join(map(str, faults))}", result)

    def _unmet(self, message: str, result: Any) -> ExpectationError:
        text = result.get("text") if isinstance(result, Mapping) else result
        shown = text if isinstance(text, str) else msgspec.json.encode(text).decode()
        hint = f"it was: {shown[:300]}{'…' if len(shown) > 300 else ''}"
        return ExpectationError(message, resource=self.name, hint=hint, details={"result": result})
