"""What the commands that look at a set share: reading and checking it, and printing what was found; nothing heavy."""

import sys
from argparse import Namespace
from collections.abc import Sequence

from runtime.checks import Checked, check
from runtime.cli.output import print_findings
from runtime.diagnostics import Diagnostic
from runtime.errors import ManifestError, UsageError
from runtime.manifest import Ref, read_sources
from runtime.registry import Entry
from runtime.resource_set import Resource

INVOCABLE = "Runtime.Invocable"


def read_checked(options: Namespace, *, with_lock: bool = False) -> Checked:
    """The set of the command line; findings go to standard error, and ManifestError is raised where one is an error.

    `with_lock` goes by the lock of the options `--lock` and `--locked`.
    """
    sources = read_sources(options.paths)
    if with_lock:
        checked = check(sources, locked=getattr(options, "locked", False), lock_file=options.lock)
    else:
        checked = check(sources, with_lock=False)
    if checked.diagnostics and (checked.errors or not options.quiet):
        print_findings(checked, sys.stderr, options)
    if checked.errors:
        raise ManifestError(checked.diagnostics)
    return checked


def print_found(checked: Checked, found: Sequence[Diagnostic], options: Namespace) -> None:
    """Findings about the set that came later than those of the check, on standard error."""
    print_findings(Checked(checked.sources, checked.resources, checked.scopes, list(found)), sys.stderr, options)


def invocables(checked: Checked) -> list[Resource]:
    """The named resources that can be run, in the order of the files."""
    return [
        resource
        for resource in checked.resources.resources
        if resource.owner is None and isinstance(resource.entry, Entry) and resource.entry.fits(INVOCABLE)
    ]


def is_case(resource: Resource) -> bool:
    """Whether a resource is for `runtime test` alone: to refer to others is not to use them."""
    return isinstance(resource.entry, Entry) and resource.entry.fits("Runtime.Case")


def find_invocable(checked: Checked, name: str) -> Resource:
    """The agent, or other thing that can be run, of that name; UsageError with the names that there are."""
    found = invocables(checked)
    for resource in found:
        if resource.name == name:
            return resource
    names = ", ".join(str(resource.name) for resource in found)
    raise UsageError(f'there is no agent "{name}"', hint=f"there are: {names}" if names else "the set has none")


def declared_targets(checked: Checked) -> list[Resource]:
    """What the application document says is to be run."""
    application = checked.resources.application
    slots = application.slots if application is not None else []
    targets = [
        checked.resources.by_name[slot.value.name] if isinstance(slot.value, Ref) else slot.inline for slot in slots
    ]
    return [target for target in targets if target is not None]


def find_roots(checked: Checked, targets: list[Resource]) -> list[Resource]:
    """What is brought up for some targets: they themselves; without any what can be run, or else everything."""
    roots = targets or invocables(checked)
    return roots or [resource for resource, _ in checked.resources.known() if resource.owner is None]
