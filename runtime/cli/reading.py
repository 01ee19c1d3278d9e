"""What the commands that look at a set share: reading and checking it, and printing what was found; nothing heavy."""

import sys
from argparse import Namespace
from collections.abc import Sequence

from runtime.checks import Checked, check
from runtime.cli.output import print_findings
from runtime.diagnostics import Diagnostic
from runtime.errors import ManifestError
from runtime.manifest import read_sources


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
