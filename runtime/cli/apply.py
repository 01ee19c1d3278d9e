"""Bring a set of manifests up, run what is asked, take everything down. The answer is on standard output."""

import os
import stat
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from runtime.ai.approval import approvals_by
from runtime.checks import Checked
from runtime.cli import approval, bringing_up, cassettes, otel
from runtime.cli.kept import leaving_queued, run_kept
from runtime.cli.lock_arguments import add_locked_arguments
from runtime.cli.locking import bring_up_locked
from runtime.cli.progress import PlainReport
from runtime.cli.reading import declared_targets, find_roots, is_case
from runtime.cli.targets import run_targets
from runtime.errors import UsageError
from runtime.lifecycle import Live
from runtime.manifest import Ref
from runtime.masking import Masker
from runtime.resource_set import Resource


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime apply`."""
    bringing_up.add_arguments(parser)
    add_locked_arguments(parser)
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", metavar="TEXT", help="what to ask; - or a pipe reads it from standard input")
    prompt.add_argument("--prompt-file", metavar="FILE", help="a file with what to ask")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an input of what is run, as text; NAME:=JSON gives any other value; may be repeated",
    )
    parser.add_argument(
        "--output",
        choices=("text", "json", "events"),
        default="text",
        help="the answer as text, as {text, usage, finishReason, steps}, or each event of the run as a line of JSON",
    )
    parser.add_argument(
        "--trace", metavar="FILE", help="keep each event of the runs with its time, as lines of JSON, for you alone"
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="stay up, and do it again whenever a file changes: only what differs restarts",
    )
    parser.add_argument(
        "--run-id",
        metavar="ID",
        help="the id of a run that is kept (`durable`): one that is there goes on, or its answer is given",
    )
    approval.add_arguments(parser)
    otel.add_arguments(parser)
    cassettes.add_arguments(parser)


def run(options: Namespace) -> int:
    """0 when everything asked for was done; other codes as in design.md section 9."""
    prompt = _read_prompt(options)
    inputs = {**_read_inputs(options.input), **({"prompt": prompt} if prompt is not None else {})}
    checked = bringing_up.read_checked(options, with_lock=True)
    targets = _targets(checked, options.agent, options.run_id if prompt is None else prompt)
    changes = cassettes.find_changes(checked, options)
    resolved = bringing_up.resolve_printed(checked, find_roots(checked, targets), options, changes)

    async def main(report: PlainReport) -> int:
        approver = approval.TerminalApprover(options.approve, report, Masker(resolved.values.secrets))
        if options.watch:
            return await watch(report, approver)
        async with (
            otel.traced(options, report),
            leaving_queued(resolved, approver),
            cassettes.taped(checked, resolved, report, options) as opener,
            bring_up_locked(checked, resolved, report, options, opener) as live,
        ):
            if targets:
                with approvals_by(approver):
                    return await run_kept(live, targets, inputs, options, report, approver)
            await _tell_what_came_up(live, report)
        return 0

    async def watch(report: PlainReport, approver: approval.TerminalApprover) -> int:
        from runtime.cli.watching import apply_watched

        def roots(checked: Checked) -> list[Resource]:
            return find_roots(checked, _targets(checked, options.agent, prompt))

        async def work(live: Live, checked: Checked) -> None:
            targets = _targets(checked, options.agent, prompt)
            if not targets:
                await _tell_what_came_up(live, report)
                return
            with approvals_by(approver):
                await run_targets(live, targets, inputs, options)

        async with otel.traced(options, report):
            return await apply_watched(checked, resolved, roots, work, report, options)

    excluded = options.trace or options.record or options.replay or options.run_id
    if options.watch and ("-" in options.paths or excluded):
        raise UsageError('"--watch" goes with files, and not with "--trace", "--record", "--replay" or "--run-id"')
    return bringing_up.run_until_signal(main, options)


def _read_prompt(options: Namespace) -> str | None:
    if options.prompt_file is not None:
        try:
            with open(options.prompt_file, encoding="utf-8") as file:
                return file.read()
        except (OSError, ValueError) as error:
            raise UsageError(f'cannot read "{options.prompt_file}": it is not there, or not text') from error
    if options.prompt is not None and options.prompt != "-":
        return str(options.prompt)
    if "-" in options.paths:
        if options.prompt == "-":
            raise UsageError("standard input cannot be both the manifest and the prompt")
        return None
    if options.prompt == "-" or _is_piped(sys.stdin.fileno()):
        return sys.stdin.buffer.read().decode("utf-8", "replace") or None
    return None


def _read_inputs(words: list[str]) -> dict[str, Any]:
    import msgspec

    inputs: dict[str, Any] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name.rstrip(":"):
            raise UsageError(f'"--input {word}" has no name', hint="write NAME=VALUE, or NAME:=JSON")
        if not name.endswith(":"):
            inputs[name] = value
            continue
        try:
            inputs[name[:-1]] = msgspec.json.decode(value)
        except msgspec.DecodeError as error:
            raise UsageError(f'the value of "--input {name}=" is not JSON: {error}') from error
    return inputs


def _is_piped(descriptor: int) -> bool:
    """Whether somebody pipes or redirects something in: a terminal and /dev/null are no prompt."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _targets(checked: Checked, agent: str | None, prompt: str | None) -> list[Resource]:
    """What is to be run: the named agent; with a prompt the only one, or the application's; else its targets."""
    if agent is not None:
        return [bringing_up.find_invocable(checked, agent)]
    targets = declared_targets(checked)
    if targets or prompt is None:
        return targets
    holders = [each for each, _ in checked.resources.known() if not is_case(each.root)]
    used = {slot.value.name for each in holders for slot in each.slots if type(slot.value) is Ref}
    runnable = bringing_up.invocables(checked)
    found = [resource for resource in runnable if resource.name not in used] or runnable
    if len(found) != 1:
        names = ", ".join(str(resource.name) for resource in found)
        raise UsageError(
            f"the set has {len(found)} agents, and the prompt is for one",
            hint=f'pick one with "--agent": {names}' if found else 'declare an "Ai.Agent"',
        )
    return found


async def _tell_what_came_up(live: Live, report: PlainReport) -> None:
    for node in live.resolved.nodes:
        instance = live.instances[node]
        if hasattr(instance, "tools"):
            names = [tool.name for tool in await instance.tools()]
            report.tell(f"{node.name}: {len(names)} tools" + (f": {', '.join(names)}" if names else ""))
    report.tell('nothing was asked: give a prompt with "--prompt", or "targets" on the application document')
