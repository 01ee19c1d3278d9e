"""What commands print: findings, errors, JSON; colour only on a terminal."""

import os
import sys
from typing import Any, TextIO

from runtime.checks import Checked
from runtime.cli.terminal_text import disarm
from runtime.diagnostics.render import as_text
from runtime.errors import Error


def has_colour(stream: TextIO, options: Any = None) -> bool:
    """Whether a stream is a terminal that may be coloured (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and not getattr(options, "no_color", False)


def print_findings(checked: Checked, stream: TextIO, options: Any) -> None:
    """The findings of a set as text, each with its line of the source."""
    sources = {source.name: source for source in checked.sources}
    wanted = {(found.file, found.line) for found in checked.diagnostics}
    lines = {(file, number): sources[file].line(number) for file, number in wanted if file in sources}
    for line in as_text(checked.diagnostics, lines, colour=has_colour(stream, options)):
        print(encodable(line, stream), file=stream)


def print_json(value: Any) -> None:
    """One JSON document on standard output, UTF-8 whatever the locale says."""
    import msgspec

    data = msgspec.json.format(msgspec.json.encode(value), indent=2)
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")


def write(text: str) -> None:
    """Text on standard output as UTF-8, whatever the locale says."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def print_error(error: Error) -> None:
    """An error as people read it: what is wrong, with what, how it differs from what was expected, what to do."""
    print(encodable(disarm(f"error: {error} [{error.code}]"), sys.stderr), file=sys.stderr)
    for line in error.details.get("diff", ()):
        print(encodable(disarm(f"    {line}"), sys.stderr), file=sys.stderr)
    if error.hint:
        print(encodable(disarm(f"    hint: {error.hint}"), sys.stderr), file=sys.stderr)


def print_warning(name: str, message: str) -> None:
    """What a command warns of beside its result, in the form of what a start warns of."""
    print(encodable(disarm(f"warning: {name}: {message}"), sys.stderr), file=sys.stderr)


def encodable(text: str, stream: TextIO) -> str:
    """The text with escapes for what the stream's encoding has not."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
