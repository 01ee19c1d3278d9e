"""Texts with expressions: where each expression lies, and the names that it uses. Nothing is compiled here."""

import re
from typing import NamedTuple

OPENING, CLOSING = "${{", "}}"

_MARKS = re.compile("[{}'\"]")
_NAMES = re.compile(r"(?<![\w.])(variables|secrets|metadata|arguments)\s*\.\s*([A-Za-z_]\w*)")


class Part(NamedTuple):
    """One `${{ }}` of a string: `start` and `end` of the whole, `at` where the expression `text` starts."""

    start: int
    end: int
    at: int
    text: str


def split(text: str) -> tuple[list[Part], int | None]:
    """The expressions of a string, and the offset of a `${{` that is never closed.

    The first `}}` that is neither inside a string nor inside a map of the expression closes it.
    """
    parts: list[Part] = []
    at = 0
    while (start := text.find(OPENING, at)) >= 0:
        end = _closing(text, start + len(OPENING))
        if end is None:
            return parts, start
        inner = start + len(OPENING)
        parts.append(Part(start, end + len(CLOSING), inner, text[inner:end]))
        at = end + len(CLOSING)
    return parts, None


def _closing(text: str, at: int) -> int | None:
    first = text.find(CLOSING, at)
    if first < 0:
        return None
    inner = text[at:first]
    if "{" not in inner and "'" not in inner and '"' not in inner:  # as almost always: no need to look at each letter
        return first
    depth = 0
    while (found := _MARKS.search(text, at)) is not None:
        at = found.end()
        if found[0] == "{":
            depth += 1
        elif found[0] != "}":
            end = _string_end(text, found.start())
            if end is None:
                return None
            at = end
        elif depth == 0 and text.startswith(CLOSING, found.start()):
            return found.start()
        else:
            depth = max(0, depth - 1)
    return None


def _string_end(text: str, at: int) -> int | None:
    """Behind the string literal that opens at `at`: CEL has quoted, tripled and raw ones (its language definition)."""
    quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
    is_raw = at > 0 and text[at - 1] in "rR"
    start = at = at + len(quote)
    while (found := text.find(quote, at)) >= 0:
        unescaped = found
        while unescaped > start and text[unescaped - 1] == "\\":
            unescaped -= 1
        if is_raw or (found - unescaped) % 2 == 0:
            return found + len(quote)
        at = found + 1
    return None


def names_in(text: str, root: str, *, is_tagged: bool = False) -> dict[str, int]:
    """Names that the expressions of a string take from a root, such as `secrets`, each with its first offset in it.

    What stands around the expressions, in their strings and in their comments is no use of a name. `is_tagged` says
    that the whole string is one expression.
    """
    if root not in text:
        return {}
    parts = [(0, text)] if is_tagged else [(part.at, part.text) for part in split(text)[0]]
    names: dict[str, int] = {}
    for at, expression in parts:
        for found in _NAMES.finditer(code_only(expression)):
            if found[1] == root:
                names.setdefault(found[2], at + found.start())
    return names


def code_only(text: str) -> str:
    """An expression with blanks in the place of its strings and comments."""
    if "'" not in text and '"' not in text and "//" not in text:
        return text
    pieces: list[str] = []
    at = 0
    while at < len(text):
        end = at + 1
        if text[at] in "'\"":
            end = _string_end(text, at) or len(text)
        elif text.startswith("//", at):
            end = text.find("\n", at) if "\n" in text[at:] else len(text)
        pieces.append(text[at] if end == at + 1 else " " * (end - at))
        at = end
    return "".join(pieces)
