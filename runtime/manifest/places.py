"""From a character of a string value back to the character of the text that it came from.

A finding inside an expression stands where its name stands in the file, whatever quotes, escapes, folding or
indentation lie between. Only needed when there is a finding, so it may walk the scalar.
"""

from runtime.manifest.document import Expression
from runtime.manifest.source import Source

_ESCAPED = {"x": 2, "u": 4, "U": 8}


def places_in(expression: Expression, source: Source) -> list[int]:
    """The place of each character of the value, and last the place behind them all."""
    raw = source.text[: expression.end]
    at = _content_start(expression, source)
    style = expression.style
    places = []
    for character in expression:
        at = _skip(character, raw, at, style)
        places.append(at)
        at = _advance(character, raw, at, style)
    return [*places, places[-1] + 1 if places else at]


def _content_start(expression: Expression, source: Source) -> int:
    """Behind the tag, the anchor, and what opens the scalar."""
    at = source.start_of(expression.place)
    if expression.style in ("'", '"'):
        return at + 1
    if expression.style in ("|", ">"):
        while at < len(source.text) and source.text[at] not in "\r\n":
            at += 1
    return at


def _skip(character: str, raw: str, at: int, style: str) -> int:
    """Over what the text has and the value has not: indentation, folded line ends, escaped line ends."""
    while at < len(raw):
        if raw[at] == character or (character in " \n" and raw[at] in " \t\r\n"):
            return at
        if style == '"' and raw[at] == "\\":
            if raw[at + 1 : at + 2] in ("\n", "\r"):
                at += 2
                continue
            return at
        if raw[at] not in " \t\r\n":
            return at
        at += 1
    return at


def _advance(character: str, raw: str, at: int, style: str) -> int:
    """Behind the character of the value that stands at `at`."""
    if style == "'" and raw[at : at + 2] == "''":
        return at + 2
    if style == '"' and raw[at : at + 1] == "\\":
        return at + 2 + _ESCAPED.get(raw[at + 1 : at + 2], 0)
    if character in " \n" and raw[at : at + 1] in ("\r", "\n"):
        return at + (2 if raw[at : at + 2] == "\r\n" else 1)
    return at + 1
