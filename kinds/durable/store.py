"""`Durable.Store`: where runs are kept, so that they survive their process."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from runtime.durable.settings import DURATION_PATTERN, POSTGRES, find_url_fault, read_duration
from runtime.errors import StartError
from runtime.kind import Context, Inspection, Kind, kind

if TYPE_CHECKING:
    from runtime.durable.contracts import Store as LiveStore
    from runtime.effects import Effect

INSTALL = 'python -m pip install "manifest-runtime[durable]"'


@kind("Durable.Store")
class Store(Kind):
    """Where runs are kept, so that they survive their process: a SQLite file, or PostgreSQL for several machines.

    Kept is what was asked, every turn of the model and every result of a tool, in clear; of secrets `***`.
    """

    url: Annotated[
        str,
        Meta(
            description="The database: `sqlite:///FILE`, beside the manifest, for the processes of one machine; or"
            " `postgresql://USER:PASSWORD@HOST/DATABASE`, which is best a secret."
        ),
    ] = "sqlite:///.runtime/runs.db"
    takeover_after: Annotated[
        str,
        Meta(
            description="How long a process may be silent (`500ms`, `60s`, `5m`, `7d`) until others take its runs"
            " over; those of a process that died on the same machine are taken over at once.",
            pattern=DURATION_PATTERN,
        ),
    ] = "60s"
    keep: Annotated[
        str,
        Meta(
            description="How long runs are kept once they are over; `0s` keeps them for ever.", pattern=DURATION_PATTERN
        ),
    ] = "7d"

    @classmethod
    def inspect(cls, inspection: Inspection) -> None:
        """SCHEMA_VALUE: an address that no store can have, and a `takeoverAfter` of nothing. EXTRA_MISSING."""
        for path, url in inspection.find("url"):
            fault = find_url_fault(url) if isinstance(url, str) else None
            if fault is not None:
                inspection.report("SCHEMA_VALUE", path, fault)
        for path, text in inspection.find("takeoverAfter"):
            if isinstance(text, str) and not text.strip("0msdh"):
                inspection.report("SCHEMA_VALUE", path, "a process that lives is silent for a while, too")
        if not _is_installed():
            inspection.report("EXTRA_MISSING", ("kind",), "the extra `durable` is not installed", INSTALL)

    @classmethod
    def find_effects(cls, fields: Mapping[str, Any]) -> "Sequence[Effect]":
        """The server's address, without who signs in; a file is none."""
        from runtime.effects import Connects

        url = fields.get("url", "")
        if not isinstance(url, str) or not url.startswith(POSTGRES):
            return ()
        scheme, _, rest = url.partition("://")
        return [Connects(f"{scheme}://{rest.rpartition('@')[2]}")]

    @asynccontextmanager
    async def open(self, context: Context) -> "AsyncIterator[LiveStore]":
        from runtime.durable.memory import MemoryStore, is_forgetting

        if is_forgetting():
            yield MemoryStore()
            return
        fault = find_url_fault(self.url)
        if fault is not None:
            raise StartError(fault, code="ERR_DURABLE_STORE", resource=context.name)
        if not _is_installed():
            message = "the extra `durable` is not installed"
            raise StartError(message, code="ERR_DURABLE_EXTRA", resource=context.name, hint=INSTALL)
        from anyio import to_thread

        # A second of a processor's time: other resources start meanwhile.
        engine = await to_thread.run_sync(_import_engine)
        rules = engine.StoreRules(self.url, read_duration(self.takeover_after), read_duration(self.keep) or None)
        async with engine.open_store(rules, str(context.folder), context.mask, context.log) as store:
            yield store


def _import_engine() -> Any:
    from runtime.durable import engine

    return engine


def _is_installed() -> bool:
    """Whether there is what the extra brings; nothing of it is imported."""
    from importlib.machinery import PathFinder

    return PathFinder.find_spec("dbos") is not None
