"""A finding about a manifest as data, the table of codes, and the forms in which findings are printed."""

from runtime.diagnostics.codes import CODES
from runtime.diagnostics.diagnostic import Diagnostic

__all__ = ["CODES", "Diagnostic"]
