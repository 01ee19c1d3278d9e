"""From a character of a string value back to the character of the text that it came from.

A finding inside an expression stands where its name stands in the file, whatever quotes, escapes, folding or
indentation lie between. Only needed when there is a finding, so it may walk the scalar.
"""

import re
from collections.abc import Generator, Iterator

from runtime.manifest.document import Expression
from runtime.manifest.source import Source

_ESCAPE_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEADER = re.compile(r"[|>]([+-]?)([1-9]?)[+-]?[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z)")
_BREAK = re.compile(r"\r\n|\r|\n")
_PLAIN = re.compile(r"(?:[^\\'\" \t\r\n]++|[ \t]+(?![ \t\r\n]))++")
"""Characters of a flow scalar that stand for themselves: no escape, no quote, no blank beside a line end."""
_FOLD = re.compile(r"[ \t]*(?:\r\n|\r|\n)[ \t\r\n]*")


def places_in(expression: Expression, source: Source) -> list[int]:
    """The place of each character of the value, and last the place behind them all."""
    text = source.text[: expression.end]
    start = source.start_of(expression.place)
    if expression.style in ("|", ">"):
        found = _block_places(str(expression), text, start)
    else:
        found = _flow_places(text, start, expression.style)
    places = list(found)[: len(expression)]
    last = places[-1] if places else start
    # one for each character, even where a scalar is written in a way that is not foreseen here
    places += [last] * (len(expression) - len(places))
    return [*places, last + 1 if places else start + len(expression.style)]


def _block_places(value: str, text: str, start: int) -> Iterator[int]:
    """Lines without their indentation; a line end counts where the value has a character for it."""
    header = _HEADER.match(text, start)
    at = header.end() if header is not None else start
    indentation = _leading_blanks(text[at:]) - _leading_blanks(value)
    given = 0
    while at < len(text) and given < len(value):
        ended = _BREAK.search(text, at)
        line_end = ended.start() if ended is not None else len(text)
        for place in range(min(at + indentation, line_end), line_end):
            yield place
            given += 1
        if value[given : given + 1] in (" ", "\n") and ended is not None:
            yield line_end
            given += 1
        at = ended.end() if ended is not None else len(text)


def _leading_blanks(text: str) -> int:
    """Of the first line with something on it: in the scalar its indentation, in the value what was more than that."""
    line = next((line for line in _BREAK.split(text) if line.strip(" ")), "")
    return len(line) - len(line.lstrip(" "))


def _flow_places(text: str, start: int, style: str) -> Iterator[int]:
    """A line end with the blanks around it gives a blank, or the line ends that follow it; in double quotes there are
    escapes, in single quotes the doubled quote."""
    at = start + len(style)
    end = len(text) - len(style)
    while at < end:
        plain = _PLAIN.match(text, at, end)
        if plain is not None:
            yield from range(at, plain.end())
            at = plain.end()
            continue
        fold = _FOLD.match(text, at)
        if fold is not None:
            breaks = [found.start() for found in _BREAK.finditer(text, at, fold.end())]
            yield from breaks[1:] or breaks[:1]
            at = fold.end()
        elif style == '"' and text[at] == "\\":
            continued = re.compile(r"\\(?:\r\n|\r|\n)[ \t]*").match(text, at)
            if continued is not None:
                at = yield from _continued(text, continued.end())
                continue
            yield at
            at += 2 + _ESCAPE_DIGITS.get(text[at + 1 : at + 2], 0)
        else:
            yield at
            at += 2 if style == "'" and text[at] == "'" else 1


def _continued(text: str, at: int) -> Generator[int, None, int]:
    """Behind an escaped line end: empty lines that follow it are line ends of the value."""
    while (ended := re.compile(r"[ \t]*(\r\n|\r|\n)[ \t]*").match(text, at)) is not None:
        yield ended.start(1)
        at = ended.end()
    return at
