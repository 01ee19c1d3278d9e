"""The manifests of a service as they were last read, which is not what is up where they have errors."""

from collections.abc import Sequence

from msgspec import Struct

from runtime.diagnostics import Diagnostic
from runtime.errors import Error
from runtime.manifest import Source


class Reading(Struct, frozen=True):
    """The texts with what was found in them; `problem` is why they were not applied, `number` counts the readings."""

    number: int
    sources: Sequence[Source]
    diagnostics: Sequence[Diagnostic]
    problem: Error | None = None
