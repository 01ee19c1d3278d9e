"""Text to documents that remember where everything stands. What a document means is not known here."""

from runtime.manifest.document import Broken, Document, Expression, Include, Mapping, Ref, Sequence, strings
from runtime.manifest.loader import load
from runtime.manifest.source import Source, read_sources

__all__ = [
    "Broken",
    "Document",
    "Expression",
    "Include",
    "Mapping",
    "Ref",
    "Sequence",
    "Source",
    "load",
    "read_sources",
    "strings",
]
