"""Which program a file is of, and the manifest that comes of it."""

from collections.abc import Callable
from typing import NamedTuple

from runtime.errors import UsageError
from runtime.importing.draft import Declared, Draft
from runtime.importing.foreign import read_foreign
from runtime.importing.mcp_json import convert_mcp_json, convert_vscode
from runtime.importing.writing import write_manifest
from runtime.manifest import Mapping, Source


class Format(NamedTuple):
    """A format: what it is called, by which of its keys it is known, how it is converted."""

    title: str
    is_of: Callable[[Mapping], bool]
    convert: Callable[[Draft, Mapping], None]


FORMATS = {
    "mcp": Format("mcp.json, claude_desktop_config.json", lambda body: "mcpServers" in body, convert_mcp_json),
    "vscode": Format(".vscode/mcp.json", lambda body: "servers" in body or "mcp" in body, convert_vscode),
}
"""By name, in the order in which they are tried."""


class Imported(NamedTuple):
    """The text of the manifest, and what it was written from."""

    text: str
    draft: Draft


def convert(source: Source, name: str = "") -> Imported:
    """The manifest of a foreign file; `name` is its format, found out where none is given.

    Raises UsageError where the file cannot be read, is of no format known here, or holds nothing to take over.
    """
    body = read_foreign(source)
    draft = Draft(source)
    found = FORMATS[name] if name else _recognise(source, body)
    found.convert(draft, body)
    if not draft.documents:
        raise UsageError(f'"{source.name}" holds nothing that a manifest could declare', hint=_reasons(draft))
    declarations = draft.values.declarations()
    if declarations:
        draft.documents.insert(0, Declared("Runtime.Application", "Application", declarations))
    return Imported(write_manifest(draft), draft)


def _recognise(source: Source, body: Mapping) -> Format:
    found = next((known for known in FORMATS.values() if known.is_of(body)), None)
    if found is None:
        titles = "; ".join(f"{name}: {known.title}" for name, known in FORMATS.items())
        raise UsageError(f'"{source.name}" is of no format that is known here', hint=f"the formats are {titles}")
    return found


def _reasons(draft: Draft) -> str | None:
    return "; ".join(map(str, draft.notes)) or None
