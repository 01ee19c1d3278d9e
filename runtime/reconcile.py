"""From one live set to the next: only what differs is opened and closed, and what runs finishes on the set it began on.

A resource is the same as long as its kind (and the file of one that is imported from beside the manifest), its name,
its folder, its values and all that it needs are: then the new set has its live instance. A new set that does not come
up changes nothing.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup, TaskStatus
from msgspec import Struct

from runtime.kind import Context
from runtime.lifecycle import Live, Opener, Report, leaf, open_kind
from runtime.resolver import Node, PerCallExpression, Resolved

OpenSet = Callable[[Opener, Report], AbstractAsyncContextManager[Live]]
"""Brings a set up, each of its resources by the opener."""


def digest_nodes(resolved: Resolved, salt: str = "") -> dict[Node, str]:
    """What each resource is made of, as a digest: equal digests are equal resources. `salt` is of the whole set."""
    digests: dict[Node, str] = {}
    values = msgspec.json.encode(resolved.values.scope, enc_hook=repr, order="sorted").decode()

    def plain(value: Any) -> Any:
        if isinstance(value, Node):
            return {"needs": digests[value]}
        if isinstance(value, PerCallExpression):
            return {"evaluates": str(value), "values": values}
        if isinstance(value, Mapping):
            return {str(key): plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value

    for node in resolved.nodes:
        content = [salt, node.entry.name, node.entry.code, node.name, node.resource.source.folder, plain(node.fields)]
        if node.entry.cls.runs_imported_code:
            content.append(resolved.code.digest)
        encoded = msgspec.json.encode(content, enc_hook=repr, order="sorted")
        digests[node] = hashlib.sha256(encoded).hexdigest()
    return digests


class Difference(Struct, frozen=True):
    """What became of the resources of two sets, by their names."""

    started: list[str]
    changed: list[str]
    stopped: list[str]
    kept: list[str]

    @property
    def is_empty(self) -> bool:
        return not (self.started or self.changed or self.stopped)

    def __str__(self) -> str:
        parts = {"started": self.started, "changed": self.changed, "stopped": self.stopped}
        told = [f"{word} {', '.join(names)}" for word, names in parts.items() if names]
        return "; ".join([*told, f"{len(self.kept)} as they were"])


def _compare(old: Mapping[Node, str], new: Mapping[Node, str]) -> Difference:
    known, wanted = set(old.values()), set(new.values())
    gone = [node.name for node, digest in old.items() if digest not in wanted]
    come = [node.name for node, digest in new.items() if digest not in known]
    return Difference(
        [name for name in come if name not in gone],
        [name for name in come if name in gone],
        [name for name in gone if name not in come],
        [node.name for node, digest in new.items() if digest in known],
    )


class Generation:
    """A live set, and how many use it."""

    def __init__(self, digests: Mapping[Node, str]) -> None:
        self.digests = digests
        self.live: Live
        self._users = 0
        self._is_retired = False
        self._free = anyio.Event()

    @contextmanager
    def used(self) -> Iterator[Live]:
        """The set stays up while the block runs, whatever comes after it."""
        self._users += 1
        try:
            yield self.live
        finally:
            self._users -= 1
            self._free_up()

    def retire(self) -> None:
        """Nobody new will use it: it goes down when the last one is done."""
        self._is_retired = True
        self._free_up()

    async def until_free(self) -> None:
        await self._free.wait()

    def _free_up(self) -> None:
        if self._is_retired and not self._users:
            self._free.set()


class Keeper:
    """Has one set up at a time for those who come, and older ones for as long as they are used."""

    def __init__(self, group: TaskGroup, report: Report) -> None:
        self.warnings: dict[str, str] = {}  # the last one of each resource since it started
        self.starting: set[str] = set()  # what of the next set is not up yet
        self._current: Generation | None = None
        self._group = group
        self._report = report
        self._pool = _Pool(group, report)
        self._turn = anyio.Lock()

    @property
    def current(self) -> Generation:
        """The set that is up for those who come."""
        if self._current is None:
            raise LookupError("no set is up yet")
        return self._current

    async def replace(
        self, resolved: Resolved, open_set: OpenSet, salt: str = "", opener: Opener = open_kind
    ) -> Difference:
        """Bring a set up in the place of the current one. Raises what `open_set` raises; nothing has changed then."""
        async with self._turn:
            old = self._current
            generation = Generation(digest_nodes(resolved, salt))
            try:
                await self._group.start(self._keep, generation, open_set, opener)
            finally:
                self.starting.clear()
            self._current = generation
            if old is not None:
                old.retire()
            return _compare(old.digests if old is not None else {}, generation.digests)

    async def _keep(
        self, generation: Generation, open_set: OpenSet, opener: Opener, *, task_status: TaskStatus[None]
    ) -> None:
        known = self._pool.digests()
        kept = {node.name for node, digest in generation.digests.items() if digest in known}

        def open_pooled(
            node: Node, instances: Mapping[Node, Any], context: Context
        ) -> AbstractAsyncContextManager[Any]:
            return self._pool.lease(generation.digests[node], node.name, lambda: opener(node, instances, context))

        async with open_set(open_pooled, _QuietReport(self._report, kept, self)) as generation.live:
            task_status.started()
            await generation.until_free()


@asynccontextmanager
async def open_keeper(report: Report) -> AsyncIterator[Keeper]:
    """A keeper that has nothing up yet; leaving takes everything down, used or not."""
    try:
        async with anyio.create_task_group() as group:
            yield Keeper(group, report)
            group.cancel_scope.cancel()
    except BaseExceptionGroup as error:
        raise leaf(error) from None


class _Held:
    """An instance that is up, owned by one task."""

    def __init__(self) -> None:
        self.instance: Any = None
        self.error: Exception | None = None
        self.scope = anyio.CancelScope(shield=True)
        self.settled = anyio.Event()  # it is open, or did not open
        self.unwanted = anyio.Event()
        self.stopped = anyio.Event()
        self.leases: list[anyio.CancelScope] = []


class _Pool:
    """Instances by digest. One lives from the first lease to the last."""

    def __init__(self, group: TaskGroup, report: Report) -> None:
        self._group = group
        self._report = report
        self._held: dict[str, _Held] = {}

    def digests(self) -> set[str]:
        return set(self._held)

    @asynccontextmanager
    async def lease(
        self, digest: str, name: str, open_instance: Callable[[], AbstractAsyncContextManager[Any]]
    ) -> AsyncIterator[Any]:
        """The instance, opened by the first who wants it; raises what it died of, or did not open for."""
        held = self._held.get(digest)
        if held is None:
            held = self._held[digest] = _Held()
            self._group.start_soon(self._own, digest, held, open_instance)
        scope = anyio.CancelScope()
        held.leases.append(scope)
        try:
            await held.settled.wait()
            if held.error is None:
                with scope:
                    yield held.instance
            if held.error is not None:
                raise held.error
        finally:
            held.leases.remove(scope)
            if not held.leases:
                await self._stop(digest, held, name)

    async def _stop(self, digest: str, held: _Held, name: str) -> None:
        if self._held.get(digest) is held:
            del self._held[digest]
        was_alive = held.error is None
        held.unwanted.set()
        if not held.settled.is_set():
            held.scope.cancel()
        with anyio.CancelScope(shield=True):
            await held.stopped.wait()
        if was_alive and held.error is not None:
            self._report.warn(name, f"did not stop cleanly: {held.error}")

    async def _own(
        self, digest: str, held: _Held, open_instance: Callable[[], AbstractAsyncContextManager[Any]]
    ) -> None:
        try:
            with held.scope:
                async with open_instance() as held.instance:
                    held.settled.set()
                    await held.unwanted.wait()
        except Exception as error:  # the border of a resource: whoever leases it is told
            cause = leaf(error)
            held.error = cause if isinstance(cause, Exception) else error
        finally:
            if self._held.get(digest) is held:
                del self._held[digest]
            held.settled.set()
            held.stopped.set()
            for scope in held.leases:
                scope.cancel()


class _QuietReport(Report):
    """Tells nothing of the start of what was up already; the keeper notes what starts, and what is warned of."""

    def __init__(self, report: Report, kept: set[str], keeper: Keeper) -> None:
        self._warnings = keeper.warnings
        self._starting = keeper.starting
        self._report = report
        self._kept = kept

    def starting(self, name: str) -> None:
        if name not in self._kept:
            self._warnings.pop(name, None)
            self._starting.add(name)
            self._report.starting(name)

    def ready(self, name: str, seconds: float, summary: str) -> None:
        if name not in self._kept:
            self._starting.discard(name)
            self._report.ready(name, seconds, summary)

    def warn(self, name: str, message: str) -> None:
        self._warnings[name] = message
        self._report.warn(name, message)

    def log(self, name: str, message: str) -> None:
        self._report.log(name, message)
