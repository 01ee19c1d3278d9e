"""One finding about a manifest."""

from msgspec import Struct

from runtime.diagnostics.codes import CODES


class Diagnostic(Struct, frozen=True, order=True, omit_defaults=True):
    """A fault at a place: `line` and `column` count from 1, the column in Unicode characters.

    Diagnostics sort by file, line and column. `message` says what is wrong, `hint` what to do.
    """

    file: str
    line: int
    column: int
    code: str
    message: str
    hint: str | None = None
    resource: str | None = None

    @property
    def severity(self) -> str:
        """`error` or `warning`; the code decides."""
        return CODES[self.code].severity
