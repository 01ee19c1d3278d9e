"""A draft as the text of a manifest: one document for each resource, with the notes about it as comments above."""

from collections.abc import Iterator, Mapping
from typing import Any

from runtime.diagnostics.wording import one_line
from runtime.importing.draft import Declared, Draft
from runtime.manifest import Ref
from runtime.yaml_text import quote, write_key

_WIDTH = 100


def write_manifest(draft: Draft) -> str:
    """The whole text, with what is about no resource at its head."""
    head = [one_line(f'Imported from {draft.source.name} by "runtime import".')]
    notes = [str(note) for note in draft.notes if note.about is None]
    documents = []
    for document in draft.documents:
        about = [str(note) for note in draft.notes if note.about is document]
        documents.append("".join(f"{line}\n" for line in _document((*document.comments, *about), document)))
    return "".join(f"# {line}\n" for line in (*head, *notes)) + "\n" + "---\n".join(documents)


def _document(comments: tuple[str, ...], document: Declared) -> Iterator[str]:
    yield from (f"# {one_line(comment)}" for comment in comments)
    for line in _lines(document):
        yield f"# {line}".rstrip() if document.is_off else line


def _lines(document: Declared) -> Iterator[str]:
    yield f"kind: {document.kind}"
    yield f"metadata: {{ name: {document.name} }}"
    yield from _mapping(document.fields, "")


def _mapping(mapping: Mapping[str, Any], margin: str) -> Iterator[str]:
    for key, value in mapping.items():
        first, *rest = _value(value, margin)
        yield f"{margin}{write_key(key)}:{first and ' '}{first}"
        yield from rest


def _value(value: Any, margin: str) -> list[str]:
    """What follows a key that stands at `margin`, and the lines below it."""
    inner = f"{margin}  "
    if isinstance(value, Mapping):
        return ["", *_mapping(value, inner)] if value else ["{}"]
    if isinstance(value, (list, tuple)):
        return _list(value, inner)
    if isinstance(value, str) and "\n" in value:
        return _text(value, inner)
    return [_scalar(value)]


def _list(items: list[Any] | tuple[Any, ...], margin: str) -> list[str]:
    if not any(isinstance(item, (Mapping, list, Ref)) for item in items):
        flow = f"[{', '.join(map(_scalar, items))}]"
        if len(flow) + len(margin) <= _WIDTH:
            return [flow]
    lines = [""]
    for item in items:
        if isinstance(item, Mapping) and item:
            first, *rest = _mapping(item, f"{margin}  ")
            lines += [f"{margin}- {first.lstrip()}", *rest]
        else:
            first, *rest = _value(item, margin)
            lines += [f"{margin}- {first}", *rest]
    return lines


def _text(text: str, margin: str) -> list[str]:
    """Text of several lines: line by line where YAML can write it so, in quotes otherwise."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    is_clean = lines[0][:1] not in ("", " ") and lines[-1] and all(line.isprintable() for line in lines)
    if not is_clean:
        return [quote(text)]
    return ["|" if text.endswith("\n") else "|-", *(f"{margin}{line}" if line else "" for line in lines)]


def _scalar(value: Any) -> str:
    if isinstance(value, Ref):
        return f"!ref {value.name}"
    if isinstance(value, str):
        return write_key(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
