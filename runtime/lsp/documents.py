"""A text as its documents, each with its outline, which is kept while the document stays as it is."""

import re
from functools import lru_cache
from typing import NamedTuple

from runtime.lsp.outline import read_outline
from runtime.lsp.tree import Fields, Scalar

_START = re.compile(r"(?:^|(?<=[\r\n]))---(?=[ \t\r\n]|\Z)")
_MANIFEST = re.compile(r"^(?:---[ \t]+)?(?:\{[ \t]*)?[\"']?(?:kind|metadata)[\"']?[ \t]*:", re.MULTILINE)
_KUBERNETES = re.compile(r"^apiVersion:", re.MULTILINE)
_KEPT = 8192


class Document(NamedTuple):
    """A document: `start` is the place of its text in that of the manifest."""

    text: str
    start: int

    @property
    def outline(self) -> Fields:
        return _outline(self.text)

    @property
    def name(self) -> Scalar | None:
        """The scalar of `metadata.name`."""
        metadata = self.outline.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Fields) else None
        return name if isinstance(name, Scalar) and name.text else None


def split_documents(text: str) -> list[Document]:
    """The documents of a manifest's text; each but the first starts with its `---`."""
    starts = [0, *(found.start() for found in _START.finditer(text) if found.start())]
    return [Document(text[start:end], start) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def document_at(text: str, index: int) -> Document:
    """The document that a character belongs to."""
    return next(document for document in reversed(split_documents(text)) if document.start <= index)


def is_manifest(text: str) -> bool:
    """Whether a text looks like a manifest, or the start of one, and not like one of Kubernetes."""
    return _MANIFEST.search(text) is not None and _KUBERNETES.search(text) is None


@lru_cache(_KEPT)
def _outline(text: str) -> Fields:
    return read_outline(text)
