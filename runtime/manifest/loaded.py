"""What was read from one source."""

from runtime.diagnostics import Diagnostic
from runtime.manifest.document import Document
from runtime.manifest.source import Source

MOST_FAULTS = 1000
"""Of one source: whoever mends that many looks again."""


class Loaded:
    """What the text of one source holds: documents, findings, and what unreadable documents may declare.

    `lost_names` are names of resources, `lost_keys` all keys of what may be the application document.
    """

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.diagnostics: list[Diagnostic] = []
        self.lost_names: set[str] = set()
        self.lost_keys: set[str] = set()

    def report(self, source: Source, index: int, code: str, message: str, hint: str | None = None) -> None:
        """A finding at a character of the source."""
        from runtime.diagnostics.wording import one_line

        line, column = source.position(index)
        hint = one_line(hint) if hint is not None else None
        self.diagnostics.append(Diagnostic(source.name, line, column, code, one_line(message), hint))


class Fault(Exception):
    """The document cannot be read on from here."""

    def __init__(self, code: str, index: int, message: str, hint: str | None = None) -> None:
        self.code = code
        self.index = index
        self.message = message
        self.hint = hint
