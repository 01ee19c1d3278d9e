"""What the tests of imports share: the manifest of a file, checked, and its resources by name."""

from typing import Any

from runtime.checks import check
from runtime.importing import Draft, convert
from runtime.manifest import Mapping, Ref, Sequence, Source, load


def imported(text: str, name: str = "mcp.json") -> tuple[str, Draft]:
    """The manifest of a file; it has no finding."""
    made, draft = convert(Source(name, text.encode(), "."))
    assert check([Source("made.yaml", made.encode(), ".")]).diagnostics == [], made
    return made, draft


def resources(text: str) -> dict[str, dict[str, Any]]:
    """The resources of a manifest by name: their fields, with `!ref Name` for a reference, and their kind."""
    documents = load(Source("made.yaml", text.encode(), ".")).documents
    return {document.body["metadata"]["name"]: _fields(document.body) for document in documents}


def _fields(body: Mapping) -> dict[str, Any]:
    return {key: _plain(value) for key, value in body.items() if key != "metadata"}


def _plain(value: Any) -> Any:
    if isinstance(value, Ref):
        return f"!ref {value.name}"
    if type(value) is Mapping:
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if type(value) is Sequence else value


def notes(draft: Draft) -> list[str]:
    """The notes in the order of their lines."""
    return [str(note) for note in draft.sorted_notes()]
