"""What is said of an expression that is wrong."""

from typing import NamedTuple


class Fault(NamedTuple):
    """What is wrong with an expression: a diagnostic's code, the offset in its text, the message, a hint.

    Without an offset it is the value as a whole that is at fault.
    """

    code: str
    offset: int | None
    message: str
    hint: str | None = None


class ExpressionError(ValueError):
    """An expression that cannot be evaluated, in words for the user."""
