"""From a reference to what it names, and a resource under another name everywhere."""

import os
import re
from typing import NamedTuple

from runtime.lsp.cursor import Cursor
from runtime.lsp.documents import split_documents
from runtime.lsp.folder import Declaration
from runtime.manifest import Source

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Span(NamedTuple):
    """Where a text stands in a source."""

    source: Source
    start: int
    end: int


def find_definition(cursor: Cursor, declared: list[Declaration], folder: str) -> Span | str | None:
    """The name that a reference means, or the path of an included file."""
    if cursor.token.tag == "!ref":
        found = next((each for each in declared if each.name == cursor.token.text), None)
        return Span(found.source, found.start, found.end) if found is not None else None
    if cursor.token.tag == "!include-text":
        path = os.path.join(folder, cursor.token.text)
        return path if os.path.isfile(path) else None
    return None


def find_name(cursor: Cursor) -> str:
    """The name of a resource that the cursor is in, where it is declared or in a reference; empty elsewhere."""
    if cursor.is_key or not (cursor.token.tag == "!ref" or cursor.path == ("metadata", "name")):
        return ""
    return cursor.token.text


def find_uses(name: str, sources: list[Source], declared: list[Declaration]) -> list[Span]:
    """Everywhere that a resource is named: where it is declared, and by each `!ref`, quotes left out."""
    spans = [Span(each.source, each.start, each.end) for each in declared if each.name == name]
    for source in sources:
        for document in split_documents(source.text):
            for reference in document.references:
                if reference.text == name:
                    spans.append(Span(source, document.start + reference.start, document.start + reference.end))
    return list(dict.fromkeys(_without_quotes(span) for span in spans))


def rename_problem(new: str, declared: list[Declaration]) -> str | None:
    """Why a resource cannot have the name; None where it can."""
    if NAME.fullmatch(new) is None:
        return f'"{new}" is no name: use letters, digits and underscores, and no digit at the start'
    return f'the name "{new}" is taken' if any(each.name == new for each in declared) else None


def _without_quotes(span: Span) -> Span:
    is_quoted = span.source.text[span.start] in "\"'"
    return Span(span.source, span.start + is_quoted, span.end - is_quoted)
