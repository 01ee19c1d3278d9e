"""Expressions: finding `${{ }}` in text, compiling and evaluating through the CEL library. Not what they may name."""

from runtime.expressions.scope import ExpressionError, Fault, Part, Scope, names_in, split

__all__ = ["ExpressionError", "Fault", "Part", "Scope", "names_in", "split"]
