"""What happened when in a run, from its events: turns of the model, tool calls, waits for approval."""

import time
from typing import Any

import msgspec
from msgspec import Struct

from runtime.serve.runs import ServedRun


class _Event(Struct, rename="camel"):
    """Of an event what places it in time."""

    type: str = ""
    id: str = ""
    name: str = ""
    tool_call_id: str = ""
    duration_ms: float = 0.0
    is_error: bool = False
    approved: bool = False


def make_timeline(run: ServedRun) -> dict[str, Any]:
    """`{seconds, spans}`; a span is `{kind, name, start, end, turn}` in seconds from the start of the run.

    Its kind is `model` (`first` is when its first words, or calls, came), `tool` (with `id` and `isError`) or
    `approval` (with `approved`). What has not ended yet has no `end`.
    """
    spans: list[dict[str, Any]] = []
    calls: dict[str, dict[str, Any]] = {}
    waits: dict[str, dict[str, Any]] = {}
    turn: dict[str, Any] | None = None
    last = 0.0
    number = 0
    for at, line in zip(run.times, run.events, strict=False):
        event = msgspec.json.decode(line, type=_Event)
        if event.type in ("text-delta", "tool-call", "finish", "output-refused") and turn is None:
            if event.type == "finish":
                continue
            number += 1
            turn = {"kind": "model", "name": f"turn {number}", "start": last, "first": at, "end": at, "turn": number}
            spans.append(turn)
        if turn is not None and event.type in ("text-delta", "tool-call", "finish"):
            turn["end"] = at
        if event.type == "tool-call":
            span = {"kind": "tool", "name": event.name, "start": at, "id": event.id, "isError": False, "turn": number}
            calls[event.id] = span
            spans.append(span)
        elif event.type == "tool-result":
            turn = None
            called = calls.get(event.tool_call_id, {})
            called["end"] = min(called.get("start", at) + event.duration_ms / 1000, at) if event.duration_ms else at
            called["isError"] = event.is_error
            last = at
        elif event.type == "approval":
            waits[event.id] = {"kind": "approval", "name": event.name, "start": at, "id": event.id, "turn": number}
            spans.append(waits[event.id])
        elif event.type == "approval-decided" and event.id in waits:
            waits[event.id].update(end=at, approved=event.approved)
            if event.id in calls:
                calls[event.id]["start"] = at
        elif event.type in ("output-refused", "retry"):
            turn, last = None, at
    seconds = run.seconds if run.is_over else time.time() - run.created
    return {"seconds": seconds, "spans": sorted(spans, key=lambda span: (span["turn"], span["start"]))}
