"""Prove a set of manifests without starting anything: every fault with its file, line, column, code and hint."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from runtime.cli.lock_arguments import add_locked_arguments

if TYPE_CHECKING:  # `--help` of this command must not pay for what a check needs
    from runtime.checks import Checked

OUTPUTS = ("text", "json", "sarif", "github", "junit")


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime validate`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, a glob, or - for standard input")
    parser.add_argument("--output", choices=OUTPUTS, default="text", help="the form of the findings")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors for the exit code")
    parser.add_argument("--env", action="store_true", help="check values of secrets and variables, and commands, too")
    add_locked_arguments(parser)
    parser.add_argument("--quiet", action="store_true", help="print nothing where nothing is wrong")


def run(options: Namespace) -> int:
    """0 where no finding is an error, else 1."""
    from runtime.checks import check
    from runtime.manifest import read_sources

    checked = check(
        read_sources(_with_tested(options.paths), with_tests=True),
        with_environment=options.env,
        locked=options.locked,
        lock_file=options.lock,
    )
    failed = bool(checked.errors or (options.strict and checked.warnings))
    _print(checked, failed, options)
    return 1 if failed else 0


def _with_tested(paths: list[str]) -> list[str]:
    """The paths, and for tests alone what they are tests of: what they refer to stands there."""
    from runtime.manifest.source import TEST_SUFFIXES

    if not all(path.endswith(TEST_SUFFIXES) for path in paths):
        return paths
    from runtime.manifest.source import find_files
    from runtime.testing.discovery import find_manifests

    return [*paths, *(manifest for test in find_files(paths) for manifest in find_manifests(test))]


def _print(checked: "Checked", failed: bool, options: Namespace) -> None:
    from runtime.cli import output

    found = checked.diagnostics
    if options.output == "text":
        output.print_findings(checked, sys.stdout, options)
        if not options.quiet or failed:
            print(_summary(len(checked.resources.documents), checked.errors, checked.warnings))
    elif options.output == "json":
        from runtime.diagnostics.render import as_data

        output.print_json(as_data(found))
    elif options.output == "sarif":
        from runtime.diagnostics.sarif import as_sarif
        from runtime.version import VERSION

        output.print_json(as_sarif(found, VERSION))
    elif options.output == "junit":
        from runtime.diagnostics.junit import as_junit

        output.write(as_junit(found, _cases(checked)))
    else:
        from runtime.diagnostics.github import as_github

        output.write("".join(f"{line}\n" for line in as_github(found)))


def _cases(checked: "Checked") -> list[tuple[str, str, str]]:
    return [
        (resource.source.name, str(resource.kind), resource.name)
        for resource in checked.resources.resources
        if resource.owner is None and resource.name
    ]


def _summary(documents: int, errors: int, warnings: int) -> str:
    def counted(count: int, word: str) -> str:
        return f"{count} {word}{'' if count == 1 else 's'}"

    return f"{counted(documents, 'document')}: {counted(errors, 'error')}, {counted(warnings, 'warning')}"
