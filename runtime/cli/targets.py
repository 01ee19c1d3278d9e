"""Running what `apply` is asked for: one target, or several at the same time, and printing what comes of it."""

import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import anyio
import msgspec

from runtime.cli import bringing_up
from runtime.cli.output import print_error, print_json, write
from runtime.cli.terminal_text import disarm
from runtime.errors import Error
from runtime.lifecycle import Live
from runtime.masking import Masker, StreamMasker, mask_json
from runtime.resource_set import Resource


async def run_targets(live: Live, targets: list[Resource], inputs: Mapping[str, Any], options: Namespace) -> int:
    """Run the targets and print their results; the exit code of the first that failed, or 0.

    A single target's error is raised; of several, each error is printed and the others go on.
    """
    masker = Masker(live.resolved.values.secrets)
    nodes = {node.resource: node for node in live.resolved.nodes}
    if len(targets) == 1:
        instance = live.instances[nodes[targets[0]]]
        await bringing_up.masked(_run_alone(instance, inputs, options.output, masker), masker)
        return 0
    outcomes = [_Outcome(target.title) for target in targets]
    async with anyio.create_task_group() as group:
        for target, outcome in zip(targets, outcomes, strict=True):
            group.start_soon(_run_beside, live.instances[nodes[target]], inputs, options.output, masker, outcome)
    _print_outcomes(outcomes, options.output, masker)
    return next((outcome.error.exit_status for outcome in outcomes if outcome.error is not None), 0)


class _Outcome:
    """What came of one of several targets."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds = 0.0
        self.result: Any = None
        self.error: Error | None = None


async def _run_beside(instance: Any, inputs: Mapping[str, Any], output: str, masker: Masker, outcome: _Outcome) -> None:
    started = time.perf_counter()
    try:
        if output == "events" and hasattr(instance, "run"):
            await bringing_up.masked(_write_events(instance.run(inputs), masker, outcome.name), masker)
        else:
            outcome.result = await bringing_up.masked(instance.invoke(inputs), masker)
    except Error as error:
        outcome.error = error
    outcome.seconds = time.perf_counter() - started


async def _run_alone(instance: Any, inputs: Mapping[str, Any], output: str, masker: Masker) -> None:
    if output == "events" and hasattr(instance, "run"):
        await _write_events(instance.run(inputs), masker, None)
    elif output == "text" and hasattr(instance, "run") and sys.stdout.isatty():
        await _write_live(instance.run(inputs), masker)
    else:
        result = await instance.invoke(inputs)
        if output == "text":
            _write_text(masker(_text_of(result)).rstrip("\n") + "\n")
        elif output == "json":
            print_json(mask_json(msgspec.to_builtins(result), masker))
        else:
            write(_line(mask_json({"type": "result", "result": msgspec.to_builtins(result)}, masker), None))


async def _write_events(events: Any, masker: Masker, target: str | None) -> None:
    """Each event as a line of JSON, as it comes; pieces of text are held back while they could hold half a secret."""
    stream = StreamMasker(masker)
    async with aclosing(events):
        async for event in events:
            data = msgspec.to_builtins(event)
            if data["type"] == "text-delta":
                data["text"] = stream.feed(data["text"])
                if data["text"]:
                    write(_line(data, target))
                continue
            rest = stream.flush()
            if rest:
                write(_line({"type": "text-delta", "text": rest}, target))
            write(_line(mask_json(data, masker), target))


async def _write_live(events: Any, masker: Masker) -> None:
    """The model's text on the terminal as it comes, a line for each tool call between."""
    stream = StreamMasker(masker)
    async with aclosing(events):
        async for kind, text in _told(events):
            if kind == "text":
                write(disarm(stream.feed(text)))
            else:
                write(disarm(stream.flush() + text))
    write("\n")


async def _told(events: Any) -> AsyncIterator[tuple[str, str]]:
    has_text = False
    async for event in events:
        data = msgspec.to_builtins(event)
        if data["type"] == "text-delta":
            has_text = True
            yield "text", data["text"]
        elif data["type"] == "tool-call":
            yield "call", f"{chr(10) if has_text else ''}[{data['name']}]\n"
            has_text = False
        elif data["type"] == "output-refused":
            yield "call", f"{chr(10) if has_text else ''}[asked again: {data['message']}]\n"
            has_text = False
        elif data["type"] == "finish":
            yield "end", ""


def _print_outcomes(outcomes: list[_Outcome], output: str, masker: Masker) -> None:
    for outcome in outcomes:
        if outcome.error is not None:
            outcome.error.resource = outcome.error.resource or outcome.name
            print_error(outcome.error)
    if output == "json":
        print_json(mask_json({outcome.name: _as_data(outcome) for outcome in outcomes}, masker))
    elif output == "text":
        width = max(len(outcome.name) for outcome in outcomes)
        for outcome in outcomes:
            state = "done  " if outcome.error is None else "failed"
            text = _text_of(outcome.result) if outcome.error is None else outcome.error.message
            lines = masker(text).strip().split("\n")
            _write_text(f"{outcome.name:<{width}}  {state}  {outcome.seconds:6.1f} s  {lines[0]}\n")
            _write_text("".join(f"{'':<{width}}                      {line}\n" for line in lines[1:]))


def _write_text(text: str) -> None:
    """Text as it is into a file or a pipe; on a terminal nothing in it can act."""
    write(disarm(text) if sys.stdout.isatty() else text)


def _as_data(outcome: _Outcome) -> dict[str, Any]:
    if outcome.error is not None:
        error = {"code": outcome.error.code, "message": outcome.error.message, "hint": outcome.error.hint}
        return {"ok": False, "seconds": round(outcome.seconds, 3), "error": error}
    return {"ok": True, "seconds": round(outcome.seconds, 3), "result": msgspec.to_builtins(outcome.result)}


def _text_of(result: Any) -> str:
    """What people read of a result: an agent's structured answer or text, text as it is, anything else as JSON."""
    if isinstance(result, Mapping) and "output" in result and "steps" in result:
        return msgspec.json.encode(result["output"]).decode()
    if isinstance(result, Mapping) and isinstance(result.get("text"), str):
        return str(result["text"])
    return result if isinstance(result, str) else msgspec.json.encode(result).decode()


def _line(data: Mapping[str, Any], target: str | None) -> str:
    return msgspec.json.encode(data if target is None else {"target": target, **data}).decode() + "\n"
