"""Findings as workflow commands of GitHub Actions, which show them on their lines.

Source: "Workflow commands for GitHub Actions" in GitHub's documentation, with its escapes for data and properties.
"""

from collections.abc import Iterator, Sequence

from runtime.diagnostics.diagnostic import Diagnostic


def as_github(diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    """One command a finding."""
    for found in diagnostics:
        place = f"file={_property(found.file)},line={found.line},col={found.column},title={_property(found.code)}"
        text = found.message if found.hint is None else f"{found.message}\nhint: {found.hint}"
        yield f"::{found.severity} {place}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
