"""Tools in the shape of each model provider, and the arguments back; no I/O, no provider SDK, nothing heavy to import.

A provider's rules stand in the module of its name; what several need, in `schema` and its neighbours. How a model is
called does not belong here.
"""

from runtime.ai.formats.conversion import FORMATS, Converted, ConvertedTool, convert
from runtime.ai.formats.format import Memory
from runtime.ai.formats.report import Entry, Rename, SetAside

__all__ = ["FORMATS", "Converted", "ConvertedTool", "Entry", "Memory", "Rename", "SetAside", "convert"]
