"""Tool calls of a run that wait until somebody, over HTTP, says whether they may be made."""

from collections.abc import Callable, Mapping
from typing import Any

import anyio

from runtime.ai.approval import ApprovalRequest, Decision
from runtime.errors import Error
from runtime.masking import Masker, mask_json

Tell = Callable[[Mapping[str, Any]], None]


class NotWaiting(Error):
    """A call that was asked about waits for nothing: somebody has decided, or the time is over."""

    code = "ERR_SERVE_DECIDED"


class Approvals:
    """The calls of one run that somebody has to approve; `tell` gets an event for each question and each decision."""

    def __init__(self, tell: Tell, masker: Masker, seconds: float) -> None:
        """A call that nobody decides on within `seconds` is refused."""
        self._tell = tell
        self._masker = masker
        self._seconds = seconds
        self._waiting: dict[str, _Waiting] = {}
        self._asked: set[str] = set()

    @property
    def waiting(self) -> list[dict[str, Any]]:
        """The calls that wait, as callers read them: `{id, agent, name, arguments}`."""
        return [waiting.told for waiting in self._waiting.values()]

    def has_asked(self, call: str) -> bool:
        """Whether there ever was a question with this id."""
        return call in self._asked

    async def __call__(self, request: ApprovalRequest) -> Decision:
        """Ask, and wait for the decision."""
        name = self._number(self._masker(request.id))
        arguments = mask_json(request.arguments, self._masker)
        told = {"id": name, "agent": request.agent, "name": request.tool, "arguments": arguments}
        waiting = self._waiting[name] = _Waiting(told)
        decision = Decision(False, f"nobody decided within {self._seconds:g} s")
        try:
            self._tell({"type": "approval", **told})
            with anyio.move_on_after(self._seconds):
                decision = await waiting.wait()
        finally:
            del self._waiting[name]
        self._tell_decision(name, decision)
        return decision

    def decide(self, call: str, decision: Decision) -> None:
        """Let a call go on, or not; raises NotWaiting."""
        waiting = self._waiting.get(call)
        if waiting is None or not waiting.decide(decision):
            raise NotWaiting(f'the call "{call}" does not wait for anybody', hint="it is decided, or its time is over")

    def _tell_decision(self, name: str, decision: Decision) -> None:
        reason = self._masker(decision.reason)
        self._tell({"type": "approval-decided", "id": name, "approved": decision.is_approved, "reason": reason})

    def _number(self, call: str) -> str:
        """An id of this run's own: two agents that work for one may call their calls the same."""
        name, number = call, 1
        while name in self._asked:
            number += 1
            name = f"{call}-{number}"
        self._asked.add(name)
        return name


class _Waiting:
    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self._decision: Decision | None = None
        self._decided = anyio.Event()

    def decide(self, decision: Decision) -> bool:
        """False where somebody was first."""
        if self._decision is not None:
            return False
        self._decision = decision
        self._decided.set()
        return True

    async def wait(self) -> Decision:
        while self._decision is None:
            await self._decided.wait()
        return self._decision
