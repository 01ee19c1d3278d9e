"""Turn another program's list of MCP servers, or its agents, into a manifest; tell line by line what does not map."""

import sys
from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime import`."""
    from runtime.importing import FORMATS

    parser.add_argument("path", metavar="PATH", help="the file to read, or - for standard input")
    parser.add_argument(
        "--format", choices=tuple(FORMATS), default="", help="what the file is, where that cannot be told"
    )
    parser.add_argument("--output", metavar="FILE", help="a new file for the manifest, instead of standard output")


def run(options: Namespace) -> int:
    """0 where a valid manifest was written, 1 where it still has errors, which are told."""
    import os

    from runtime.checks import check
    from runtime.cli.output import encodable, print_findings, write
    from runtime.errors import UsageError
    from runtime.importing import convert
    from runtime.manifest import Source, read_sources

    if os.path.isdir(options.path):
        raise UsageError(f'"{options.path}" is a folder: name the file')
    [source] = read_sources([options.path])
    imported = convert(source, options.format)
    if options.output is None:
        write(imported.text)
    else:
        _write_new(options.output, imported.text)
    for note in imported.draft.sorted_notes():
        print(encodable(f"{source.name}:{note.line}: {note.text}", sys.stderr), file=sys.stderr)
    needed = imported.draft.values.needed()
    if needed:
        print(f'needed in the environment, or in ".env": {", ".join(needed)}', file=sys.stderr)
    checked = check([Source(options.output or "manifest", imported.text.encode(), source.folder)])
    print_findings(checked, sys.stderr, options)
    return 1 if checked.errors else 0


def _write_new(path: str, text: str) -> None:
    from runtime.errors import UsageError

    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f'"{path}" is there already', hint="name a new file: nothing is overwritten") from None
    except OSError as error:
        raise UsageError(f'cannot write "{path}": {(error.strerror or "unknown").lower()}') from error
