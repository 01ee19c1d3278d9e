"""Prove a set of manifests without starting anything: every fault with its file, line, column, code and hint."""

import gc
import sys
from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime validate`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, a glob, or - for standard input")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="the form of the findings")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors for the exit code")
    parser.add_argument("--quiet", action="store_true", help="print nothing where nothing is wrong")


def run(options: Namespace) -> int:
    """0 where no finding is an error, else 1."""
    gc.disable()  # the process ends before a collection could pay for itself
    from runtime.checks import check
    from runtime.cli.output import print_findings, print_json
    from runtime.manifest import read_sources

    checked = check(read_sources(options.paths))
    failed = bool(checked.errors or (options.strict and checked.warnings))
    if options.output == "json":
        from runtime.diagnostics.render import as_data

        print_json(as_data(checked.diagnostics))
    else:
        print_findings(checked, sys.stdout, options)
        if not options.quiet or failed:
            print(_summary(len(checked.resources.documents), checked.errors, checked.warnings))
    return 1 if failed else 0


def _summary(documents: int, errors: int, warnings: int) -> str:
    def counted(count: int, word: str) -> str:
        return f"{count} {word}{'' if count == 1 else 's'}"

    return f"{counted(documents, 'document')}: {counted(errors, 'error')}, {counted(warnings, 'warning')}"
