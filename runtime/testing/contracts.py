"""What `runtime test` runs, and what comes of it."""

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from runtime.contracts import contract


class Failure(Struct, frozen=True):
    """An expectation that was not met: its field, what was found, and how it differs (`-` expected, `+` found)."""

    expectation: str
    message: str
    diff: Sequence[str] = ()


class Verdict(Struct, frozen=True):
    """What came of a case; `result` is what was run gave, or `{steps, error}` of a run that failed."""

    failures: Sequence[Failure]
    result: Any = None


@contract("Runtime.Case")
class Case(Protocol):
    """Work whose outcome is known beforehand.

    Whoever runs it reads three fields of its resource: the slot `model`, the slots by name in `mcp`, and `cassette`
    (`runtime.testing.setup`).
    """

    async def verify(self) -> Verdict:
        """Do the work once and hold it against what is expected. Never raises for what went wrong in the work."""


@contract("Runtime.Recording")
class Recording(Protocol):
    """A cassette in the place of others: whoever runs a case reads `path`, `mode` and `ignore` of its resource."""
