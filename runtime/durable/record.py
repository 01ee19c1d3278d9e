"""The record of one run while it is carried on: its steps by their numbers, kept by DBOS."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import uuid4

from dbos import DBOS
from dbos._error import DBOSUnexpectedStepError, DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError

from runtime.durable.contracts import Decision, Wait
from runtime.durable.values import Mask, mask_plain
from runtime.errors import DurableError


class RunRecord:
    """Keeps the contract `Journal`. `recorded` are the numbers of the steps that earlier attempts recorded.

    `park` puts the run aside until somebody resumes it; `forget` drops a decision, which holds once.
    """

    def __init__(
        self,
        run_id: str,
        recorded: set[int],
        facts: Mapping[str, Any],
        mask: Mask,
        park: Callable[[str, Wait], Awaitable[None]],
        forget: Callable[[str], Awaitable[None]],
        tell: Callable[[Any], None],
    ) -> None:
        self.run_id = run_id
        self.attempt = uuid4().hex
        self.tell = tell
        self._recorded = recorded
        self._decision = facts.get("decision") or {}
        self._mask = mask
        self._park = park
        self._forget = forget

    def reserve(self, name: str) -> "RecordSlot":
        reservation = DBOS.reserve_step()
        number = reservation.step_id
        return RecordSlot(self.run_id, name, number, number in self._recorded, reservation, self._mask)

    async def decide(self, question: Wait, ask: Callable[[], Awaitable[Decision | None]]) -> Decision:
        if self._decision.get("step") == question.step:
            choice: Decision = self._decision["choice"]
            await self._forget(self.run_id)
            return choice
        asked = await ask()
        if asked is not None:
            return asked
        await self._park(self.run_id, question)
        raise waits(self.run_id, question)


class RecordSlot:
    """Keeps the contract `Slot`."""

    def __init__(self, run_id: str, name: str, number: int, is_recorded: bool, reservation: Any, mask: Mask) -> None:
        self.number = number
        self.is_recorded = is_recorded
        self._run_id = run_id
        self._name = name
        self._reservation = reservation
        self._mask = mask

    async def run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        done: list[Any] = []

        async def step() -> Any:
            done.append(await work())
            return mask_plain(done[0], self._mask)

        try:
            # What runs when the run is cancelled from elsewhere is stopped within a second.
            recorded = await self._reservation.run_async({"name": self._name, "preemptible": True}, step)
        except DBOSWorkflowConflictIDError as error:
            raise DurableError(
                f'the run "{self._run_id}" was taken over by another process, and goes on there',
                code="ERR_DURABLE_TAKEN",
                hint="this process was silent for longer than `takeoverAfter` of the store",
            ) from error
        except DBOSWorkflowCancelledError as error:
            raise cancelled(self._run_id) from error
        except DBOSUnexpectedStepError as error:
            _, number, wanted, found = error.inputs
            raise DurableError(
                f'step {number} of the run "{self._run_id}" was recorded as "{found}", and is "{wanted}" now',
                code="ERR_DURABLE_STEPS",
                hint="what changed in the manifest or its tools is more than the run can follow: fork it from a step",
            ) from error
        return done[0] if done else recorded


def cancelled(run_id: str) -> DurableError:
    return DurableError(f'the run "{run_id}" was cancelled', code="ERR_DURABLE_CANCELLED")


def waits(run_id: str, wait: Wait) -> DurableError:
    return DurableError(
        f'the run "{run_id}" waits: {wait.message}',
        code=wait.code,
        hint=f'decide with "runtime runs resume {run_id} PATH --uncertain retry" (or skip, or fail)'
        if wait.code == "ERR_DURABLE_UNCERTAIN"
        else "set `onManifestChange: continue`, or bring the earlier manifest up",
        details={"run": run_id, "step": wait.step, "tool": wait.tool},
    )
