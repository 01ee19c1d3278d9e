"""A draft as the text of a manifest: one document for each resource, with the notes about it as comments above."""

from collections.abc import Iterator, Mapping
from typing import Any

from runtime.diagnostics.credentials import starred
from runtime.diagnostics.wording import one_line
from runtime.importing.draft import Declared, Draft
from runtime.manifest import Include, Ref
from runtime.yaml_text import Tagged, write_key, write_mapping


def write_manifest(draft: Draft) -> str:
    """The whole text, with what is about no resource at its head."""
    head = [one_line(f'Imported from {draft.source.name} by "runtime import".')]
    notes = [str(note) for note in draft.sorted_notes() if note.about is None]
    documents = []
    for document in draft.documents:
        about = [str(note) for note in draft.sorted_notes() if note.about is document]
        documents.append("".join(f"{line}\n" for line in _document((*document.comments, *about), document)))
    return "".join(f"# {line}\n" for line in (*head, *notes)) + "\n" + "---\n".join(documents)


def _document(comments: tuple[str, ...], document: Declared) -> Iterator[str]:
    yield from (f"# {one_line(comment)}" for comment in comments if comment.strip())
    for line in _lines(document):
        yield f"# {line}".rstrip() if document.is_off else line


def _lines(document: Declared) -> Iterator[str]:
    yield f"kind: {document.kind}"
    yield f"metadata: {{ name: {write_key(document.name)} }}"
    yield from write_mapping(_tagged(document.fields), 0, is_sorted=False)


def _tagged(value: Any) -> Any:
    """The value with references and includes as they are written; a credential that nobody expected becomes stars."""
    if isinstance(value, Ref):
        return Tagged(f"!ref {value.name}")
    if isinstance(value, Include):
        return Tagged(f"!include-text {write_key(value)}")
    if isinstance(value, Mapping):
        return {starred(key): _tagged(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_tagged(item) for item in value]
    return starred(value) if isinstance(value, str) else value
