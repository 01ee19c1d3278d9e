"""From a reference to what it names, and a resource under another name everywhere."""

import os
import re
from typing import NamedTuple

from runtime.lsp.cursor import Cursor, Path, tokens
from runtime.lsp.documents import split_documents
from runtime.lsp.folder import Declaration
from runtime.lsp.schema import holds_names
from runtime.lsp.tree import Fields, Scalar
from runtime.manifest import Source
from runtime.registry import Registry

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Span(NamedTuple):
    """Where a text stands in a source."""

    source: Source
    start: int
    end: int


def find_definition(cursor: Cursor, registry: Registry, declared: list[Declaration], folder: str) -> Span | str | None:
    """The name that a reference means, or the path of an included file."""
    if cursor.token.tag == "!include-text":
        path = os.path.join(folder, cursor.token.text)
        return path if os.path.isfile(path) else None
    name = find_name(cursor, registry)
    found = next((each for each in declared if each.name == name), None)
    return Span(found.source, found.start, found.end) if found is not None else None


def find_name(cursor: Cursor, registry: Registry) -> str:
    """The name of a resource that the cursor is in, where it is declared or referred to; empty elsewhere."""
    if not cursor.is_key and cursor.path == ("metadata", "name"):
        return cursor.token.text
    return _named(registry, cursor.root, cursor.path, cursor.token, is_key=cursor.is_key)


def _named(registry: Registry, root: Fields, path: Path, token: Scalar, *, is_key: bool) -> str:
    """The name of a resource that a reference gives, or a text in a field that names resources."""
    if token.tag == "!ref":
        return token.text
    is_name = not token.tag and holds_names(registry, root, path, is_key=is_key)
    return token.text.partition(".")[0] if is_name else ""  # `Tools.client` is the client declared inside `Tools`


def find_uses(name: str, sources: list[Source], declared: list[Declaration], registry: Registry) -> list[Span]:
    """Everywhere that a resource is named: where it is declared, and where it is referred to, quotes left out."""
    spans = [Span(each.source, each.start, each.end) for each in declared if each.name == name]
    for source in sources:
        for document in split_documents(source.text):
            for path, token, is_key, _ in tokens(document.outline, ()):
                if token.text.partition(".")[0] != name:
                    continue
                if _named(registry, document.outline, path, token, is_key=is_key) == name:
                    spans.append(Span(source, document.start + token.start, document.start + token.end))
    return list(dict.fromkeys(_name_alone(span, name) for span in spans))


def rename_problem(new: str, declared: list[Declaration]) -> str | None:
    """Why a resource cannot have the name; None where it can."""
    if NAME.fullmatch(new) is None:
        return f'"{new}" is no name: use letters, digits and underscores, and no digit at the start'
    return f'the name "{new}" is taken' if any(each.name == new for each in declared) else None


def _name_alone(span: Span, name: str) -> Span:
    """The part of a span that is the name: neither quotes nor what stands behind it."""
    start = span.start + (span.source.text[span.start] in "\"'")
    return Span(span.source, start, start + len(name))
