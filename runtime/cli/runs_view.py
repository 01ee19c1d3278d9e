"""Runs as people and programs read them: a table, one run with its steps and what to do about it, JSON."""

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.cli.terminal_text import disarm
from runtime.durable.contracts import RunDetails, RunInfo, StepInfo

SHORT = 60
"""Characters of an output that a line has room for."""
LONG = 400
"""Characters of inputs and of a result that are shown."""


def as_data(info: RunInfo) -> dict[str, Any]:
    """A run as JSON has it; times are seconds since 1970."""
    wait = {"wait": msgspec.to_builtins(info.wait)} if info.wait is not None else {}
    return {
        "id": info.id,
        "target": info.target,
        "state": info.state,
        "digest": info.digest,
        "created": info.created,
        "updated": info.updated,
        "attempts": info.attempts,
        "executor": info.executor,
        **({"forkedFrom": info.forked_from} if info.forked_from else {}),
        **wait,
    }


def details_as_data(details: RunDetails) -> dict[str, Any]:
    """A run with its steps as JSON has it: `result` once it has finished, `error` once it has failed."""
    data = {**as_data(details.info), "inputs": details.inputs, "steps": msgspec.to_builtins(list(details.steps))}
    if details.result is not msgspec.UNSET:
        data["result"] = details.result
    if details.error is not msgspec.UNSET:
        data["error"] = details.error
    return data


def table_of_runs(runs: Sequence[tuple[str, RunInfo]], *, has_names: bool) -> str:
    """Each run on a line, with the name of its store where there are several."""
    if not runs:
        return "no runs\n"
    now = time.time()
    rows = [["RUN", "TARGET", "STATE", "ATTEMPTS", "AGE", "CHANGED"]]
    for _, info in runs:
        ages = [_say_age(now - info.created), _say_age(now - info.updated)]
        rows.append([info.id, info.target, info.state, str(info.attempts), *ages])
    if has_names:
        rows = [[*row, name] for row, name in zip(rows, ["STORE", *(name for name, _ in runs)], strict=True)]
    return _make_table(rows)


def text_of_run(details: RunDetails, place: str, *, is_full: bool = False) -> str:
    """One run over several lines; `place` are the words that follow a run's id on a command line."""
    info = details.info
    most = 1 << 30 if is_full else LONG
    now = time.time()
    rows = [
        ["run", info.id],
        ["target", f"{info.target}, manifest {info.digest}"],
        ["state", say_state(info)],
        ["created", f"{_say_time(info.created)}, {_say_age(now - info.created)} ago"],
        ["changed", f"{_say_time(info.updated)}, {_say_age(now - info.updated)} ago"],
        ["attempts", f"{info.attempts}" + (f", the last by {info.executor}" if info.attempts else "")],
    ]
    if info.forked_from:
        rows.append(["forked from", info.forked_from])
    rows.append(["inputs", _say_value(details.inputs, most)])
    if details.result is not msgspec.UNSET:
        rows.append(["result", _say_value(details.result, most)])
    if details.error is not msgspec.UNSET:
        rows.append(["error", f"{details.error.get('message', '')} [{details.error.get('code', '')}]"])
    text = _make_table(rows)
    if details.steps:
        text += "\n" + _table_of_steps(details.steps, most if is_full else SHORT)
    advice = _find_advice(info, details.steps, place)
    return text + ("\n" + "".join(f"{disarm(line)}\n" for line in advice) if advice else "")


def say_state(info: RunInfo) -> str:
    """The state, and for what it waits."""
    return f"{info.state}: {info.wait.message}" if info.wait is not None else info.state


def _table_of_steps(steps: Sequence[StepInfo], most: int) -> str:
    rows = [["STEP", "NAME", "STARTED", "SECONDS", "BYTES", "OUTPUT"]]
    for step in steps:
        size = len(msgspec.json.encode(step.output))
        started = time.strftime("%H:%M:%S", time.localtime(step.started))
        output = _say_value(step.output, most)
        rows.append([str(step.number), step.name, started, f"{step.seconds:.3f}", str(size), output])
    return _make_table(rows)


def _find_advice(info: RunInfo, steps: Sequence[StepInfo], place: str) -> list[str]:
    """What a person can do about a run that does not go on by itself."""
    words = f"{info.id}{place}"
    worker = "runtime worker PATH" if not place or "--store" in place else f"runtime worker{place}"
    if info.wait is not None and info.wait.code == "ERR_DURABLE_UNCERTAIN":
        resume = f"runtime runs resume {words} --uncertain"
        return [
            f'step {info.wait.step}, the call of "{info.wait.tool}", waits for you:',
            f"  {resume} retry  makes the call again",
            f"  {resume} skip   tells the model that nobody knows whether it was made",
            f"  {resume} fail   ends the run",
        ]
    if info.wait is not None:
        return [
            f"bring the earlier manifest up, such as with {worker}, and it goes on;",
            "or let runs go on under another one: durable: { onManifestChange: continue }",
        ]
    if info.state == "interrupted":
        return [f'no process that lives carries it on: bring "{info.target}" up, such as with {worker}']
    if info.state == "queued":
        return [f'it is taken up by a process that has "{info.target}" up, such as {worker}']
    if info.state in ("failed", "cancelled"):
        last = max((step.number for step in steps), default=1)
        resume, fork = f"runtime runs resume {words}", f"runtime runs fork {words} --from {last}"
        width = max(len(resume), len(fork))
        return [
            f"  {resume:<{width}}  goes on with it",
            f"  {fork:<{width}}  makes a new run of its first steps",
        ]
    return []


def _make_table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, the last one as it is."""
    shown = [[disarm(cell).replace("\n", " ").replace("\t", " ") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)][:-1]
    lines = []
    for row in shown:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]).rstrip() + "\n")
    return "".join(lines)


def _say_value(value: Any, most: int) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _say_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _say_age(seconds: float) -> str:
    """Such as `45s`, `12m`, `3h`, `8d`."""
    seconds = max(seconds, 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"
