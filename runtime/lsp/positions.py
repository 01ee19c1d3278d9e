"""Places of our texts to positions of the protocol and back: lines from 0, columns in the units agreed on."""

import re
from bisect import bisect_right
from functools import lru_cache

from lsprotocol.types import Position, PositionEncodingKind, Range

_LINE_END = re.compile(r"\r\n|\r|\n")
_ENCODINGS = {PositionEncodingKind.Utf8: ("utf-8", 1), PositionEncodingKind.Utf16: ("utf-16-le", 2)}


class Positions:
    """Counts columns in UTF-8, UTF-16 or UTF-32 units (LSP 3.17, "Position")."""

    def __init__(self, encoding: PositionEncodingKind | str | None = None) -> None:
        self._encoding = PositionEncodingKind(encoding or PositionEncodingKind.Utf16)

    def position(self, text: str, index: int) -> Position:
        """The position of a character of the text."""
        starts = _line_starts(text)
        line = bisect_right(starts, index) - 1
        return Position(line, self._length(text[starts[line] : index]))

    def range(self, text: str, start: int, end: int) -> Range:
        """From one character to before another."""
        return Range(self.position(text, start), self.position(text, end))

    def index(self, text: str, position: Position) -> int:
        """The character at a position; the end of its line, or of the text, where it lies behind that."""
        starts = _line_starts(text)
        if position.line >= len(starts):
            return len(text)
        index = starts[position.line]
        found = _LINE_END.search(text, index)
        end = found.start() if found is not None else len(text)
        units = 0
        while index < end and units < position.character:
            units += self._length(text[index])
            index += 1
        return index

    def index_of(self, text: str, line: int, column: int) -> int:
        """The character at a line and a column of ours, which count from 1."""
        starts = _line_starts(text)
        return min(starts[min(line, len(starts)) - 1] + column - 1, len(text))

    def _length(self, text: str) -> int:
        if text.isascii() or self._encoding not in _ENCODINGS:
            return len(text)
        encoding, size = _ENCODINGS[self._encoding]
        return len(text.encode(encoding, "surrogatepass")) // size


@lru_cache(256)
def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(found.end() for found in _LINE_END.finditer(text)))
