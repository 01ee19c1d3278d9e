"""The engine's public API. It knows no kind by name and never imports `kinds`.

Names are imported when they are first used, so that `runtime --help` pays for none of them.
"""

import sys

TYPE_CHECKING = False  # type checkers know the name; `typing` would cost `--help` half a bare interpreter's start
if TYPE_CHECKING:
    from runtime.diagnostics import Diagnostic
    from runtime.embedding import open_manifests, validate
    from runtime.errors import (
        AgentError,
        DurableError,
        Error,
        ExpectationError,
        ManifestError,
        McpError,
        ModelError,
        StartError,
        ToolError,
        UsageError,
    )
    from runtime.kind import FIXED, Context, Fields, Inspection, Kind, Slot, kind, per_call
    from runtime.version import VERSION

__all__ = [
    "FIXED",
    "VERSION",
    "AgentError",
    "Context",
    "Diagnostic",
    "DurableError",
    "Error",
    "ExpectationError",
    "Fields",
    "Inspection",
    "Kind",
    "ManifestError",
    "McpError",
    "ModelError",
    "Slot",
    "StartError",
    "ToolError",
    "UsageError",
    "kind",
    "open_manifests",
    "per_call",
    "validate",
]

_HOMES = {
    "runtime.diagnostics": ("Diagnostic",),
    "runtime.embedding": ("open_manifests", "validate"),
    "runtime.kind": ("FIXED", "Context", "Fields", "Inspection", "Kind", "Slot", "kind", "per_call"),
    "runtime.version": ("VERSION",),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f'module "runtime" has no attribute "{name}"')
    home = next((module for module, names in _HOMES.items() if name in names), "runtime.errors")
    return getattr(__import__(home, fromlist=[name]), name)


class _PublicApi(type(sys)):  # type: ignore[misc]  # the class of modules
    """`kind` is the decorator, whenever the module `runtime.kind` is imported, which would else take its place."""

    @property
    def kind(self) -> object:
        return __getattr__("kind")

    @kind.setter
    def kind(self, module: object) -> None:
        """What the import system does with a submodule; it stays in `sys.modules`."""


sys.modules[__name__].__class__ = _PublicApi
