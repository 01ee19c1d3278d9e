"""Expressions: finding `${{ }}` in text, compiling and evaluating through the CEL library. Not what they may name."""

from runtime.expressions.contracts import ExpressionError, Fault
from runtime.expressions.scope import Scope
from runtime.expressions.text import Part, names_in, split

__all__ = ["ExpressionError", "Fault", "Part", "Scope", "names_in", "split"]
