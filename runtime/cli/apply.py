"""Bring a set of manifests up, run what is asked, take everything down. The answer is on standard output."""

import os
import stat
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from runtime.checks import Checked
from runtime.cli import bringing_up
from runtime.cli.output import write
from runtime.cli.progress import PlainReport
from runtime.errors import UsageError
from runtime.lifecycle import Live, bring_up
from runtime.manifest import Ref
from runtime.masking import Masker
from runtime.resource_set import Resource


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime apply`."""
    bringing_up.add_arguments(parser)
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", metavar="TEXT", help="what to ask; - or a pipe reads it from standard input")
    prompt.add_argument("--prompt-file", metavar="FILE", help="a file with what to ask")
    parser.add_argument(
        "--output",
        choices=("text", "json", "events"),
        default="text",
        help="the answer as text, as {text, usage, finishReason, steps}, or each event of the run as a line of JSON",
    )


def run(options: Namespace) -> int:
    """0 when everything asked for was done; other codes as in design.md section 9."""
    prompt = _read_prompt(options)
    checked = bringing_up.read_checked(options)
    targets = _targets(checked, options.agent, prompt)
    roots = targets or bringing_up.invocables(checked)
    if not roots:
        roots = [resource for resource, _ in checked.resources.known() if resource.owner is None]
    resolved = bringing_up.resolve_printed(checked, roots, options)

    async def main(report: PlainReport) -> int:
        async with bring_up(resolved, report) as live:
            if targets:
                await _run_targets(live, targets, {"prompt": prompt} if prompt is not None else {}, options)
            else:
                await _tell_what_came_up(live, report)
        return 0

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
    application = checked.resources.application
    declared = [
        checked.resources.by_name[slot.value.name] if isinstance(slot.value, Ref) else slot.inline
        for slot in (application.slots if application is not None else ())
    ]
    targets = [target for target in declared if target is not None]
    if targets or prompt is None:
        return targets
    found = bringing_up.invocables(checked)
    if len(found) != 1:
        names = ", ".join(str(resource.name) for resource in found)
        raise UsageError(
            f"the set has {len(found)} agents, and the prompt is for one",
            hint=f'pick one with "--agent": {names}' if found else 'declare an "Ai.Agent"',
        )
    return found


async def _run_targets(live: Live, targets: list[Resource], inputs: Mapping[str, Any], options: Namespace) -> None:
    masker = Masker(live.resolved.values.secrets)
    nodes = {node.resource: node for node in live.resolved.nodes}
    for target in targets:
        instance = live.instances[nodes[target]]
        await bringing_up.masked(_run_target(instance, inputs, options.output, masker), masker)


async def _run_target(instance: Any, inputs: Mapping[str, Any], output: str, masker: Masker) -> None:
    import msgspec

    if output == "events" and hasattr(instance, "run"):
        async for event in instance.run(inputs):
            write(masker(msgspec.json.encode(event).decode()) + "\n")
        return
    result = await instance.invoke(inputs)
    if output == "text":
        text = result["text"] if isinstance(result, dict) and isinstance(result.get("text"), str) else None
        text = text if text is not None else msgspec.json.encode(result).decode()
        write(masker(text).rstrip("\n") + "\n")
    else:
        data = msgspec.json.encode(result)
        write(masker(msgspec.json.format(data, indent=2 if output == "json" else 0).decode()) + "\n")


async def _tell_what_came_up(live: Live, report: PlainReport) -> None:
    for node in live.resolved.nodes:
        instance = live.instances[node]
        if hasattr(instance, "tools"):
            names = [tool.name for tool in await instance.tools()]
            report.tell(f"{node.name}: {len(names)} tools" + (f": {', '.join(names)}" if names else ""))
    report.tell('nothing was asked: give a prompt with "--prompt", or "targets" on the application document')
