"""The stores that a command looks at: those of a manifest, or one by its address; opened to be read, not to run."""

import os
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from runtime.durable.settings import find_file, find_url_fault
from runtime.errors import DurableError, StartError, UsageError

if TYPE_CHECKING:
    from runtime.durable.contracts import Ledger, RunInfo

KIND = "Durable.Store"
USUAL = "sqlite:///.runtime/runs.db"
"""What is looked at where nothing is said: the store that a manifest of this folder has by default."""


class Place(Struct, frozen=True):
    """Where a store is: a name to call it, its address, and the folder that a file is relative to."""

    name: str
    url: str
    folder: str


class OpenStore:
    """One store; `ledger` raises DurableError ERR_DURABLE_UNKNOWN of every run where there is no database yet."""

    def __init__(self, name: str, ledger: "Ledger | None") -> None:
        self.name = name
        self._ledger = ledger

    @property
    def ledger(self) -> "Ledger":
        if self._ledger is None:
            raise DurableError(f'the store "{self.name}" is empty: no run was started', code="ERR_DURABLE_UNKNOWN")
        return self._ledger

    async def list(self, **wanted: Any) -> "list[RunInfo]":
        """As `Ledger.list`; nothing where there is no database yet."""
        return await self._ledger.list(**wanted) if self._ledger is not None else []


def find_places(options: Namespace) -> tuple[list[Place], Sequence[str]]:
    """The stores of the command line, and the secrets in their addresses. Raises UsageError, ManifestError."""
    if options.store and options.paths:
        raise UsageError('a store is given by "--store" or by the manifests that declare it, not by both')
    if options.paths:
        return _find_declared(options)
    if not options.store and not os.path.exists(find_file(USUAL, "") or ""):
        raise UsageError(
            "nothing says where the runs are kept", hint='name the manifests, or the store with "--store URL"'
        )
    url = options.store or USUAL
    fault = find_url_fault(url)
    if fault is not None:
        raise UsageError(f'"--store": {fault}')
    return [Place("store", url, os.getcwd())], ()


def _find_declared(options: Namespace) -> tuple[list[Place], Sequence[str]]:
    from runtime.cli.bringing_up import read_checked, resolve_printed

    checked = read_checked(options)
    stores = [resource for resource, entry in checked.resources.known() if entry.fits(KIND)]
    if not stores:
        raise UsageError('the set keeps no runs: it has no "Durable.Store"', hint="declare one, and refer to it")
    resolved = resolve_printed(checked, stores, options)
    places = []
    for node in resolved.nodes:
        url = getattr(node.kind({}), "url")  # noqa: B009  # a field of the kind, which is known by its name alone
        fault = find_url_fault(url)
        if fault is not None:
            raise StartError(fault, code="ERR_DURABLE_STORE", resource=node.name)
        places.append(Place(node.name, url, node.resource.source.folder))
    return places, resolved.values.secrets


@asynccontextmanager
async def open_stores(places: Sequence[Place]) -> AsyncIterator[list[OpenStore]]:
    """The stores while the block runs. A file that is not there is not made.

    Raises DurableError ERR_DURABLE_STORE where one does not answer, StartError where the extra is not installed.
    """
    async with AsyncExitStack() as stack:
        stores = []
        for place in places:
            ledger = await _open_ledger(place) if _is_there(place) else None
            if ledger is not None:
                stack.push_async_callback(ledger.close)
            stores.append(OpenStore(place.name, ledger))
        yield stores


def _is_there(place: Place) -> bool:
    file = find_file(place.url, place.folder)
    return file is None or os.path.exists(file)


async def _open_ledger(place: Place) -> "Ledger":
    try:
        from runtime.durable.ledger import open_ledger
    except ModuleNotFoundError as error:
        raise StartError(
            "the extra `durable` is not installed",
            code="ERR_DURABLE_EXTRA",
            resource=place.name,
            hint='python -m pip install "manifest-runtime[durable]"',
        ) from error
    return await open_ledger(place.url, place.folder)


async def find_store(stores: Sequence[OpenStore], run_id: str) -> OpenStore:
    """The store that has a run. Raises DurableError ERR_DURABLE_UNKNOWN where none has."""
    unknown: DurableError | None = None
    for store in stores:
        try:
            await store.ledger.info(run_id)
        except DurableError as error:
            if error.code != "ERR_DURABLE_UNKNOWN":
                raise
            unknown = error
        else:
            return store
    raise unknown or DurableError(f'there is no run "{run_id}"', code="ERR_DURABLE_UNKNOWN")
