"""Where the cursor is in a document: in which key or value, at the end of which path."""

from collections.abc import Iterator
from typing import NamedTuple

from runtime.lsp.documents import document_at
from runtime.lsp.outline import read_outline
from runtime.lsp.tree import Fields, Items, Outline, Scalar

Path = tuple[str | int, ...]
MARK = "\ue000"
"""Stands at the cursor while the document is read; a character for private use, which no manifest holds."""


class Cursor(NamedTuple):
    """`path` leads to the value that the cursor is in; where it is in a key (`is_key`), to the mapping around that.

    `token` is the scalar there and `start` to `end` its place in the whole text, tag and all; `before` is what of it
    stands before the cursor, which is `at` that character. `is_alone` says that nothing stands before it on its line,
    so that it may become a key.
    """

    at: int
    root: Fields
    path: Path
    token: Scalar
    before: str
    start: int
    end: int
    is_key: bool
    has_colon: bool
    is_alone: bool


def find_cursor(text: str, index: int) -> Cursor | None:
    """The place of a character; None inside a comment, or where no value could stand."""
    document = document_at(text, index)
    local = index - document.start
    marked = document.text[:local] + MARK + document.text[local:]
    root = read_outline(marked)
    for path, token, is_key, has_colon in tokens(root, ()):
        if not token.place <= local < max(token.end, token.place + 1) or MARK not in marked[token.place : token.end]:
            continue
        before = marked[token.start : local] if token.start <= local else marked[token.place : local]
        line = marked[max(marked.rfind("\n", 0, token.place), marked.rfind("\r", 0, token.place)) + 1 : token.place]
        is_alone = not line.strip(" -") and not token.tag
        start, end = document.start + token.place, document.start + token.end - 1
        if MARK in token.text:
            token.text = token.text.replace(MARK, "")
        token.tag = token.tag.replace(MARK, "")
        return Cursor(index, root, path, token, before, start, end, is_key, has_colon, is_alone)
    return None


def value_at(root: Fields, path: Path) -> Outline | None:
    """What stands at the end of a path."""
    value: Outline | None = root
    for step in path:
        if isinstance(value, Fields) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, Items) and isinstance(step, int):
            value = value.items[step]
        else:
            return None
    return value


def tokens(value: Outline | None, path: Path) -> Iterator[tuple[Path, Scalar, bool, bool]]:
    """Every scalar, with what `Cursor` calls its `path`, and whether it is a key, and one with a colon."""
    if isinstance(value, Scalar):
        yield path, value, False, False
    elif isinstance(value, Items):
        for place, item in enumerate(value.items):
            yield from tokens(item, (*path, place))
    elif value is not None:
        for entry in value.entries:
            yield path, entry.key, True, entry.has_colon
            yield from tokens(entry.value, (*path, entry.key.text))
