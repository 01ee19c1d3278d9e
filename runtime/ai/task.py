"""A task: an agent's run with what it is asked, and what has to hold of its answer."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

import msgspec

from runtime.ai.events import Answer, Event, Failed, Finished, Retried
from runtime.ai.value_check import ValueCheck
from runtime.contracts import Invocable
from runtime.errors import AgentError, DurableError, Error, ExpectationError
from runtime.kind import Context
from runtime.runs import find_journal


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
        retries: int = 0,
    ) -> None:
        self.name = context.name
        self._context = context
        self._worker = worker
        self._asked = asked
        self._inputs = ValueCheck(inputs) if inputs is not None else None
        self._schema = ValueCheck(schema) if schema is not None else None
        self._conditions = conditions
        self._retries = retries

    async def invoke(self, inputs: Mapping[str, Any]) -> Any:
        """Do the work and give the worker's answer; `retries` times anew where that fails.

        Raises AgentError ERR_AGENT_INPUT for inputs that do not fit the task's schema, ExpectationError where the
        answer is not what is expected, and whatever the worker raises.
        """
        asked = self._ask(inputs)
        for _ in range(self._retries):
            try:
                return await self._try(asked)
            except DurableError:
                raise
            except Error as error:
                self._warn_of_retry(error)
        return await self._try(asked)

    def _ask(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the worker is asked; raises as `invoke`."""
        given = dict(inputs)
        if self._inputs is not None:
            faults = self._inputs.find_faults(given)
            if faults:
                raise AgentError(f"the task's inputs do not fit: {faults}", resource=self.name)
        asked: Mapping[str, Any] = self._context.evaluate(dict(self._asked), {"inputs": given})
        return asked or given

    def _warn_of_retry(self, error: Error) -> None:
        self._context.warn(f"done anew, as it failed: {error.message}")

    async def _try(self, asked: Mapping[str, Any]) -> Any:
        journal = find_journal()
        if journal is None or hasattr(self._worker, "start"):  # an agent records its steps by itself
            result = await self._worker.invoke(asked)
        else:
            result = await journal.invoke(self.name, partial(self._worker.invoke, asked))
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
        faults = self._schema.find_faults(self._read(result))
        if faults:
            raise self._unmet(f"the answer does not fit the expected schema: {faults}", result)

    def _read(self, result: Any) -> Any:
        """What the schema is about: a structured answer, else the text of one as JSON, else the result itself."""
        if not isinstance(result, Mapping):
            return result
        if "output" in result and "steps" in result:
            return result["output"]
        text = result.get("text")
        try:
            return msgspec.json.decode(text) if isinstance(text, str) else result
        except (ValueError, RecursionError) as error:
            raise self._unmet("the answer is not JSON", result) from error

    def _unmet(self, message: str, result: Any) -> ExpectationError:
        text = result.get("text") if isinstance(result, Mapping) else result
        shown = text if isinstance(text, str) else msgspec.json.encode(text).decode()
        hint = f"it was: {shown[:300]}{'…' if len(shown) > 300 else ''}"
        return ExpectationError(message, resource=self.name, hint=hint, details={"result": result})


class ToldTask(Task):
    """A task whose worker tells what it does, as agents do."""

    async def run(self, inputs: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
        """The worker's events; inputs and errors as in `invoke`.

        The last one is `finish`, once the answer is what is expected, or `error`, after which the error is raised;
        `retry` comes where the work is done anew.
        """
        try:
            asked = self._ask(inputs)
            for attempt in range(self._retries + 1):
                failure: Error | None = None
                try:
                    async with aclosing(self._work(asked)) as events:
                        async for event in events:
                            yield event
                except Error as error:
                    if attempt == self._retries or isinstance(error, DurableError):
                        raise
                    failure = error
                if failure is None:
                    return
                yield Retried(failure.message)
                self._warn_of_retry(failure)
        except Error as error:
            yield Failed.of(error)
            raise

    async def _work(self, asked: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
        """One attempt: all that the worker tells but its error, which is not the last word."""
        answer = Answer()
        end: Event | None = None
        async with aclosing(self._worker.run(asked)) as events:  # type: ignore[attr-defined]  # this one has it
            async for event in events:
                answer.add(event)
                if isinstance(event, Finished):
                    end = event
                elif not isinstance(event, Failed):
                    yield event
        if end is not None:
            self._check(answer.to_json())
            yield end


def task_type(worker: Invocable) -> type[Task]:
    """What a task of this worker is: one that tells what the worker does, where that tells it."""
    return ToldTask if hasattr(worker, "run") else Task
