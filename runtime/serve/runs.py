"""Runs that somebody asked for over the wire: what they tell, kept so that it can be read again and from the middle."""

import secrets
import time
from array import array
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Literal

import anyio
import msgspec

from runtime.ai.contracts import Message
from runtime.ai.events import Answer, Failed
from runtime.ai.wishes import Wishes
from runtime.errors import Error
from runtime.masking import Masker, StreamMasker, mask_json
from runtime.serve.approvals import Approvals

Keep = Callable[[list[Message]], Awaitable[None]]
"""Gets the conversation of a run at its end."""
Status = Literal["queued", "running", "finished", "failed", "cancelled", "interrupted"]
"""`interrupted` is one that its store has, and that this process leaves to others."""
IDLE_SECONDS = 15.0
MOST_BYTES = 32 << 20
"""Of the events of one run."""


class TooMuch(Error):
    """A run told more than is kept of one."""

    code = "ERR_SERVE_RUN_SIZE"


class ServedRun:
    """One run. `events` are masked, each one encoded as JSON; the first has the number 1.

    `times` are when they came, in seconds from the start. `asked` is a digest of what was asked; with `is_kept` a store
    has the run, too.
    """

    def __init__(self, target: str, session: str = "", run_id: str = "") -> None:
        self.id = run_id or f"run_{secrets.token_hex(12)}"
        self.target = target
        self.session = session
        self.created = time.time()
        self.seconds = 0.0
        self.status: Status = "queued"
        self.events: list[bytes] = []
        self.times = array("d")
        self.size = 0
        self.result: Any = None
        self.error: Failed | None = None
        self.cause: Error | None = None
        self.scope = anyio.CancelScope()
        self.first_event: float | None = None
        self.steps: list[dict[str, Any]] = []
        self.approvals: Approvals | None = None
        self.is_kept = False
        self.asked = b""
        self._changed: anyio.Event | None = None  # made by who waits for it: most runs are followed by nobody
        self._over = anyio.Event()

    @property
    def is_over(self) -> bool:
        return self.status not in ("queued", "running")

    def tell(self, event: Any) -> None:
        """Keep an event that is masked, and wake whoever follows."""
        line = msgspec.json.encode(event)
        self.size += len(line)
        if self.size > MOST_BYTES:
            raise TooMuch(f"the run told more than {MOST_BYTES} bytes")
        self.events.append(line)
        self.times.append(time.time() - self.created)
        self._wake()

    def end(self, status: Status) -> None:
        self.status = status
        self.seconds = time.time() - self.created
        self._over.set()
        self._wake()

    def cancel(self) -> bool:
        """Stop it; False when it is over already."""
        if self.is_over:
            return False
        self.scope.cancel()
        return True

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int, bytes]]:
        """Its events with their numbers, those after number `after`, until it is over.

        An empty one comes whenever there was none for `IDLE_SECONDS`: time to tell whoever listens that all is well.
        """
        place = max(after, 0)
        while True:
            while place < len(self.events):
                place += 1
                yield place, self.events[place - 1]
            if self.is_over:
                return
            changed = self._changed = self._changed or anyio.Event()
            with anyio.move_on_after(IDLE_SECONDS) as idle:
                await changed.wait()
            if idle.cancelled_caught:
                yield place, b""

    async def wait(self) -> None:
        """Return when it is over."""
        await self._over.wait()

    def to_json(self) -> dict[str, Any]:
        """The run as `GET /runs/{id}` tells it."""
        data: dict[str, Any] = {
            "id": self.id,
            "target": self.target,
            "status": self.status,
            "created": round(self.created, 3),
            "seconds": round(self.seconds if self.is_over else time.time() - self.created, 3),
            "events": len(self.events),
        }
        if self.session:
            data["session"] = self.session
        if self.approvals is not None and self.approvals.waiting:
            data["approvals"] = self.approvals.waiting
        if self.status == "finished":
            data["result"] = self.result
        if self.error is not None:
            data["error"] = error_data(self.error)
            data["steps"] = self.steps
        return data

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None


def error_data(error: Failed) -> dict[str, Any]:
    """An error as callers read it."""
    data: dict[str, Any] = msgspec.to_builtins(error)
    del data["type"]
    return data


async def run_masked(
    run: ServedRun,
    instance: Any,
    inputs: Mapping[str, Any],
    masker: Masker,
    keep: Keep | None = None,
    wishes: Wishes | None = None,
) -> None:
    """Run an agent, a task, or anything else that can be run, and tell the events to `run`. Raises what it raises.

    `keep` gets an agent's conversation, also of a run that failed or was stopped. Only an agent can meet `wishes`.
    """
    started = instance.start(inputs, wishes) if hasattr(instance, "start") else instance
    if hasattr(started, "events"):
        events = started.events()
    elif hasattr(started, "run"):
        events = started.run(inputs)
    else:
        result = await instance.invoke(inputs)
        run.result = mask_json(msgspec.to_builtins(result), masker)
        run.tell({"type": "result", "result": run.result})
        return
    answer = Answer()
    try:
        async with aclosing(_masked_events(events, answer, masker)) as told:
            async for event in told:
                if run.first_event is None:
                    run.first_event = time.time()
                run.tell(event)
    finally:
        run.steps = mask_json(answer.steps, masker)
        if keep is not None:
            with anyio.CancelScope(shield=True):
                await keep(started.messages)
    run.result = mask_json(answer.to_json(), masker)


async def _masked_events(
    events: AsyncGenerator[Any, None], answer: Answer, masker: Masker
) -> AsyncGenerator[Any, None]:
    """Events, as JSON values where a secret could be in them; text is held back while it could be half of one."""
    stream = StreamMasker(masker)
    async with aclosing(events):
        if masker.is_idle:
            async for event in events:
                answer.add(event)
                yield event
            return
        async for event in events:
            answer.add(event)
            data = msgspec.to_builtins(event)
            if data["type"] == "text-delta":
                data["text"] = stream.feed(data["text"])
                if data["text"]:
                    yield data
                continue
            rest = stream.flush()
            if rest:
                yield {"type": "text-delta", "text": rest}
            yield mask_json(data, masker)
