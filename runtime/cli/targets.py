"""Running what `apply` is asked for: one target, or several at the same time, and printing what comes of it."""

import sys
import time
from argparse import Namespace
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import anyio
import msgspec

from runtime.ai.events import Event, Failed, Finished, collect
from runtime.cli import bringing_up
from runtime.cli.event_lines import EventLines, TraceFile
from runtime.cli.output import print_error, print_json, print_warning, write
from runtime.cli.terminal_text import disarm
from runtime.cli.turn_view import UNFINISHED, describe_image, describe_media
from runtime.errors import Error
from runtime.lifecycle import Live
from runtime.masking import Masker, StreamMasker, mask_json
from runtime.resource_set import Resource


async def run_targets(
    live: Live,
    targets: list[Resource],
    inputs: Mapping[str, Any],
    options: Namespace,
    run_ids: Mapping[Resource, str] | None = None,
) -> int:
    """Run the targets and print their results; the exit code of the first that failed, or 0.

    A single target's error is raised; of several, each error is printed and the others go on. `run_ids` are those of
    the runs that are kept.
    """
    masker = Masker(live.resolved.values.secrets)
    nodes = {node.resource: node for node in live.resolved.nodes}
    trace = TraceFile(options.trace) if options.trace is not None else None
    try:
        works = [
            _Work(
                target.title,
                _name_run(live.instances[nodes[target]], (run_ids or {}).get(target)),
                inputs,
                options.output,
                masker,
                trace,
                len(targets) > 1,
            )
            for target in targets
        ]
        if len(works) == 1:
            await bringing_up.masked(works[0].run_alone(), masker)
            return 0
        async with anyio.create_task_group() as group:
            for work in works:
                group.start_soon(work.run_beside)
    finally:
        if trace is not None:
            trace.close()
    _print_outcomes(works, options.output, masker)
    return next((work.error.exit_status for work in works if work.error is not None), 0)


def _name_run(instance: Any, run_id: str | None) -> Any:
    """What is run, which begins or follows the run of this id."""
    return instance if run_id is None else instance.named(run_id)


class _Work:
    """One target's run, and what came of it."""

    def __init__(
        self,
        name: str,
        instance: Any,
        inputs: Mapping[str, Any],
        output: str,
        masker: Masker,
        trace: TraceFile | None,
        has_others: bool,
    ) -> None:
        self.name = name
        self.seconds = 0.0
        self.result: Any = None
        self.error: Error | None = None
        self._reason = ""
        self._instance = instance
        self._inputs = inputs
        self._output = output
        self._masker = masker
        self._lines = [EventLines(masker, name, trace.write)] if trace is not None else []
        if output == "events":
            self._lines.append(EventLines(masker, name if has_others else None, write))
        if trace is not None:
            self._lines[0].add_data({"type": "start", "inputs": inputs})

    async def run_beside(self) -> None:
        """Run, and keep what came of it."""
        started = time.perf_counter()
        try:
            self.result = await bringing_up.masked(self._run(), self._masker)
        except Error as error:
            self.error = error
        self.seconds = time.perf_counter() - started
        self._warn_of_end()

    async def run_alone(self) -> None:
        """Run and print; raises what the run raises."""
        if self._output == "text" and hasattr(self._instance, "run") and sys.stdout.isatty():
            await _write_live(self._tap(self._instance.run(self._inputs)), self._masker)
            self._warn_of_end()
            return
        result = await self._run()
        if self._output == "text":
            _write_text(self._masker(_text_of(result)).rstrip("\n") + "\n")
        elif self._output == "json":
            print_json(mask_json(msgspec.to_builtins(result), self._masker))
        self._warn_of_end()

    def _warn_of_end(self) -> None:
        """Tell where an answer is less than it looks: it is no error, and the text alone does not show it."""
        why = UNFINISHED.get(self._reason)
        if why is not None:
            print_warning(self.name, why)

    async def _run(self) -> Any:
        if not self._lines:
            result = await self._instance.invoke(self._inputs)
            if isinstance(result, Mapping) and "steps" in result:
                self._reason = str(result.get("finishReason"))
            return result
        if not hasattr(self._instance, "run"):
            return await self._run_untold()
        return await collect(self._tap(self._instance.run(self._inputs)))

    async def _tap(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """The events, each of which is written as a line where lines are wanted."""
        async with aclosing(events):
            async for event in events:
                for lines in self._lines:
                    lines.add(event)
                if isinstance(event, Finished):
                    self._reason = event.finish_reason
                yield event

    async def _run_untold(self) -> Any:
        """What tells no events has a line for what comes of it."""
        try:
            result = await self._instance.invoke(self._inputs)
        except Error as error:
            for lines in self._lines:
                lines.add(Failed.of(error))
            raise
        for lines in self._lines:
            lines.add_data({"type": "result", "result": msgspec.to_builtins(result)})
        return result


async def _write_live(events: Any, masker: Masker) -> None:
    """The model's text on the terminal as it comes, a line for each tool call between; a failure ends the line too."""
    stream = StreamMasker(masker)
    shown = "\n"
    try:
        async with aclosing(events):
            async for kind, text in _told(events):
                piece = disarm(stream.feed(text) if kind == "text" else stream.flush() + text)
                write(piece)
                shown = piece or shown
    finally:
        rest = disarm(stream.flush())
        write(rest if (rest or shown).endswith("\n") else f"{rest}\n")


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
        elif data["type"] == "media":
            lines = "\n".join(describe_media(event))
            yield "call", f"{chr(10) if has_text else ''}{lines}\n"
            has_text = False
        elif data["type"] == "output-refused":
            yield "call", f"{chr(10) if has_text else ''}[asked again: {data['message']}]\n"
            has_text = False
        elif data["type"] == "retry":
            yield "call", chr(10) if has_text else ""
            has_text = False


def _print_outcomes(outcomes: list[_Work], output: str, masker: Masker) -> None:
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


def _as_data(outcome: _Work) -> dict[str, Any]:
    if outcome.error is not None:
        error = {"code": outcome.error.code, "message": outcome.error.message, "hint": outcome.error.hint}
        return {"ok": False, "seconds": round(outcome.seconds, 3), "error": error}
    return {"ok": True, "seconds": round(outcome.seconds, 3), "result": msgspec.to_builtins(outcome.result)}


def _text_of(result: Any) -> str:
    """What people read of a result: an agent's structured answer or text, text as it is, anything else as JSON."""
    if isinstance(result, Mapping) and "output" in result and "steps" in result:
        return msgspec.json.encode(result["output"]).decode()
    if isinstance(result, Mapping) and isinstance(result.get("text"), str):
        made = [describe_image(image) for image in result.get("images") or ()] if "steps" in result else []
        return "\n".join([*([str(result["text"])] if result["text"] or not made else []), *made])
    return result if isinstance(result, str) else msgspec.json.encode(result).decode()
