"""`Test.Cassette`: a recording in the place of a model or of a server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kinds.test.recordings import IgnoreField, ModeField, PathField, report_pointer_faults
from runtime.ai.contracts import Model
from runtime.errors import StartError
from runtime.kind import Context, Inspection, Kind, kind
from runtime.mcp.contracts import Client
from runtime.testing.contracts import Recording


@kind("Test.Cassette", implements=(Model, Client, Recording))
class DeclaredCassette(Kind):
    """A recording that a `Test.Case` puts into the place of a model, or of clients of servers."""

    path: PathField
    mode: ModeField = "strict"
    ignore: IgnoreField = {}

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: a rule of `ignore` that is no JSON pointer."""
        report_pointer_faults(inspection, "ignore")

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[Any]:
        yield Unplayed(context.name)


class Unplayed:
    """A cassette itself. Whoever runs a case plays it for others; who takes it for a model or a client is told."""

    summary = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        hint = "name it in `model` or `mcp` of a Test.Case; `runtime apply --replay` plays a whole recording"
        raise StartError("a cassette answers in test cases alone", resource=self.name, hint=hint)
