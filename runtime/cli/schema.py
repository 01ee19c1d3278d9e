"""Print one JSON Schema for the documents of manifests, for editors such as those with yaml-language-server."""

from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime schema`."""
    parser.add_argument("--output", metavar="FILE", help="write it to a file instead of standard output")


def run(options: Namespace) -> int:
    """0 when the schema is written."""
    import msgspec

    from runtime.cli.output import write
    from runtime.editor_schema import make_schema
    from runtime.errors import UsageError
    from runtime.registry import Registry

    text = msgspec.json.format(msgspec.json.encode(make_schema(Registry())), indent=2).decode() + "\n"
    if options.output is None:
        write(text)
        return 0
    try:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f'cannot write "{options.output}": {(error.strerror or "unknown").lower()}') from error
    return 0
