"""Findings as the protocol has them: each at the token it is about, the hint under the message."""

import re

from lsprotocol import types

from runtime.diagnostics import Diagnostic
from runtime.lsp.positions import Positions

_TOKEN = re.compile(
    r"(?:![\w-]*[ \t]+)?(?:\"(?:\\.|[^\"\\\r\n])*\"|'(?:''|[^'\r\n])*'|\$\{\{|[\w./@+-]+|[^\s\w])?", re.ASCII
)
_SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}


def span_of(text: str, found: Diagnostic, positions: Positions) -> tuple[int, int]:
    """The token at a finding's place."""
    start = positions.index_of(text, found.line, found.column)
    token = _TOKEN.match(text, start)
    return start, token.end() if token is not None else start


def as_diagnostic(text: str | None, found: Diagnostic, positions: Positions) -> types.Diagnostic:
    """A finding in a text; where the text is not known, at the start of its line."""
    start = types.Position(found.line - 1, 0)
    where = types.Range(start, start) if text is None else positions.range(text, *span_of(text, found, positions))
    message = f"{found.message}\n{found.hint}" if found.hint else found.message
    return types.Diagnostic(
        where,
        message,
        severity=_SEVERITIES[found.severity],
        code=found.code,
        source="runtime",
    )
