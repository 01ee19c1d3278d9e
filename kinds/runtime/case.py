"""`Runtime.Case`: anything that `runtime test` runs."""

from runtime.testing.contracts import Case

__all__ = ["Case"]
