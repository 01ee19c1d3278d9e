"""Tell what `apply` would do, with nothing started: the order, each program and address, the tools of each agent."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from runtime.cli.lock_arguments import add_lock_argument

if TYPE_CHECKING:  # `--help` of this command must not pay for what it needs
    from runtime.plan import LockState, Plan, PlannedOffer, PlannedResource

DIFFERS = 2
"""The exit code of `--detailed-exitcode` where the lock does not fit the set, as with other tools that plan."""


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime plan`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, a glob, or - for standard input")
    parser.add_argument("--agent", metavar="NAME", help="what to run, as with apply")
    add_lock_argument(parser)
    parser.add_argument("--output", choices=("text", "json"), default="text", help="for people, or as JSON")
    parser.add_argument(
        "--detailed-exitcode",
        action="store_true",
        help="0 where the lock fits the set, 2 where it does not, 1 for errors",
    )
    parser.add_argument("--quiet", action="store_true", help="tell no warnings")


def run(options: Namespace) -> int:
    """0; 1 where the set is invalid or a variable has no value; with `--detailed-exitcode` 2 where the lock differs."""
    from runtime.cli import reading
    from runtime.cli.output import encodable, print_json
    from runtime.graph import start_order
    from runtime.plan import as_data, make_plan
    from runtime.preview import Preview

    checked = reading.read_checked(options, with_lock=True)
    named = [reading.find_invocable(checked, options.agent)] if options.agent else reading.declared_targets(checked)
    roots = reading.find_roots(checked, named)
    preview = Preview(checked, start_order(checked.resources, roots))
    plan = make_plan(checked, roots, named, preview)
    if preview.missing:
        reading.print_found(checked, preview.missing, options)
    if options.output == "json":
        print_json(as_data(plan))
    else:
        for line in _lines(plan):
            print(encodable(line, sys.stdout))
    if preview.missing:
        return 1
    return DIFFERS if options.detailed_exitcode and (plan.lock is None or not plan.lock.fits) else 0


def _lines(plan: "Plan") -> Iterator[str]:
    from runtime.diagnostics.render import printable

    for number, resource in enumerate(plan.resources, 1):
        for line in _resource_lines(number, resource):
            yield printable(line)
    yield f"runs {', '.join(plan.targets)}" if plan.targets else "runs what it is asked, by a prompt"
    yield from map(printable, _lock_lines(plan.lock))


def _resource_lines(number: int, resource: "PlannedResource") -> Iterator[str]:
    from shlex import join

    needs = f", after {', '.join(resource.needs)}" if resource.needs else ""
    yield f"{number}. {resource.name}: {resource.kind}{needs}"
    for program in resource.starts:
        yield f"   starts    {join([program.command, *program.args])}"
        if program.folder is not None:
            yield f"   in        {program.folder}"
        if program.env:
            yield f"   with      {', '.join(program.env)}"
        if program.inherits:
            yield f"   inherits  {', '.join(program.inherits)}"
    for address in resource.connects:
        headers = f", with the headers {', '.join(address.headers)}" if address.headers else ""
        yield f"   connects  {address.url}{headers}"
    if resource.offers is not None:
        yield from _offer_lines(resource.offers)


def _offer_lines(offer: "PlannedOffer") -> Iterator[str]:
    for use in offer.providers:
        parts = [f'prefix "{use.prefix}"'] if use.prefix else []
        parts += [f"include {', '.join(use.include)}"] if use.include is not None else []
        parts += [f"exclude {', '.join(use.exclude)}"] if use.exclude else []
        yield f"   tools of  {use.provider}" + (f": {'; '.join(parts)}" if parts else "")
    if offer.unknown:
        names = ", ".join(dict.fromkeys(offer.unknown))
        yield f'   not known without a lock ("runtime lock" makes one): the tools of {names}'
    if offer.tools or offer.tokens is not None:
        cost = f", about {offer.tokens} tokens in each request" if offer.tokens is not None else ""
        count = f"{len(offer.tools)} tool{'' if len(offer.tools) == 1 else 's'}"
        yield f"   {'besides' if offer.unknown else 'offers '}   {count}{cost}"
        yield from (f"     {tool.name}" for tool in offer.tools)


def _lock_lines(lock: "LockState | None") -> Iterator[str]:
    if lock is None:
        yield "there is no lock"
        return
    yield f"the lock {lock.path} {'fits' if lock.fits else 'differs'}"
    told: Sequence[tuple[str, Sequence[str]]] = (
        ("is not in the lock", lock.missing),
        ("has changed since it was locked", lock.stale),
        ("is in the lock and not in the set", lock.superfluous),
    )
    for what, keys in told:
        yield from (f"   {key} {what}" for key in keys)
