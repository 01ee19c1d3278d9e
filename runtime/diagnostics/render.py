"""Findings as text for people (the line itself with a caret), and as JSON for programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runtime.diagnostics.credentials import starred
from runtime.diagnostics.diagnostic import Diagnostic

_RED, _YELLOW, _BOLD, _DIM, _PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[1m", "\x1b[2m", "\x1b[0m"
_WIDEST = 160
_MARGIN = 300


def as_text(diagnostics: Sequence[Diagnostic], lines: Mapping[tuple[str, int], str], *, colour: bool) -> Iterator[str]:
    """Text lines; `lines` holds the lines of the sources that findings stand in, by file and number."""
    for found in diagnostics:
        tint = _RED if found.severity == "error" else _YELLOW
        place = printable(f"{found.file}:{found.line}:{found.column}:")
        message = printable(found.message)
        if colour:
            yield f"{_BOLD}{place}{_PLAIN} {tint}{found.severity}{_PLAIN} {_BOLD}{found.code}{_PLAIN} {message}"
        else:
            yield f"{place} {found.severity} {found.code} {message}"
        line = lines.get((found.file, found.line))
        if line is not None and line.strip():
            yield from _excerpt(line, found.column, tint if colour else "", _PLAIN if colour else "")
        if found.hint:
            yield f"    {_DIM if colour else ''}hint: {printable(found.hint)}{_PLAIN if colour else ''}"


def _excerpt(line: str, column: int, tint: str, plain: str) -> Iterator[str]:
    """The line, cut around the column where it is long, and a caret under the column."""
    first = max(0, column - _WIDEST // 2) if len(line) > _WIDEST else 0
    around = max(0, first - _MARGIN)  # so that a credential is known as one where it is cut
    wide = starred(line[around : first + _WIDEST + _MARGIN])
    shown = printable(wide[first - around : first - around + _WIDEST])
    yield f"    {shown}"
    yield f"    {' ' * _width(shown[: column - 1 - first])}{tint}^{plain}"


def _width(text: str) -> int:
    """The columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(character) else 1 + (east_asian_width(character) in "WF") for character in text)


def printable(text: str) -> str:
    """The text without control characters, so that neither a terminal nor a parser is misled; line ends stay."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() or character == "\n" else "·" for character in text)


def as_data(diagnostics: Sequence[Diagnostic]) -> dict[str, Any]:
    """The documented JSON shape: `ok`, `errors`, `warnings`, `diagnostics[]`."""
    errors = sum(found.severity == "error" for found in diagnostics)
    return {
        "ok": errors == 0,
        "errors": errors,
        "warnings": len(diagnostics) - errors,
        "diagnostics": [
            {
                "code": found.code,
                "severity": found.severity,
                "file": found.file,
                "line": found.line,
                "column": found.column,
                "message": found.message,
                "hint": found.hint,
                "resource": found.resource,
            }
            for found in diagnostics
        ],
    }
