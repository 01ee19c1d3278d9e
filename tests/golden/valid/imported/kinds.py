"""Kinds of our own, in a file beside the manifest."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from runtime import Context, Kind, kind
from runtime.ai import Model


@kind("Sky.Echo", implements=Model)
class Echo(Kind):
    """Says what it hears."""

    times: int = 1

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncIterator[None]:
        yield None
