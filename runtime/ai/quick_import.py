"""httpcore2, imported for less than it asks for.

It asks `importlib.metadata` for its own version, and for that alone come zip archives, mail parsers and all that these
need: with them its import takes half as long again. The package is the same afterwards as after a plain import.
"""

import os
import sys
from types import ModuleType
from typing import Any

NAME = "importlib.metadata"


def import_httpcore() -> Any:
    """The module httpcore2."""
    if "httpcore2" in sys.modules or NAME in sys.modules:
        import httpcore2

        return httpcore2
    stand_in = _StandIn(NAME)
    sys.modules[NAME] = stand_in
    try:
        import httpcore2
    finally:
        if sys.modules.get(NAME) is stand_in:
            del sys.modules[NAME]
    return httpcore2


class _StandIn(ModuleType):
    """Tells versions by the names of the folders that hold them; for anything else the module itself is loaded."""

    def version(self, name: str) -> str:
        for folder in sys.path:
            try:
                found = [entry for entry in os.listdir(folder or os.curdir) if entry.startswith(f"{name}-")]
            except OSError:  # an archive, or a folder that is not there
                continue
            for entry in found:
                if entry.endswith(".dist-info"):
                    return entry[len(name) + 1 : -len(".dist-info")]
        return str(self.__getattr__("version")(name))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import system asks of every module
            raise AttributeError(name)
        if sys.modules.get(NAME) is self:
            del sys.modules[NAME]
        import importlib.metadata

        return getattr(importlib.metadata, name)
