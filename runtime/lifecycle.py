"""Start each resource after what it needs, stop in reverse.

Each is owned by one task that enters its context manager, waits, and leaves it: what one task enters, that task leaves.
Independent ones start at the same time, at most 16 at once. The first failure stops everything, in order; what is being
done with the set is cancelled when one of its resources dies.
"""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup

from runtime.errors import Error, StartError
from runtime.imported_code import ImportedCode
from runtime.kind import Context
from runtime.masking import Masker
from runtime.resolver import Node, Resolved, digest_declared, evaluate_per_call

STARTS_AT_ONCE = 16

Opener = Callable[[Node, Mapping[Node, Any], Context], AbstractAsyncContextManager[Any]]
"""Opens a node, given the live instances of those that it needs, and what the resource gets from the runtime."""


def open_kind(node: Node, instances: Mapping[Node, Any], context: Context) -> AbstractAsyncContextManager[Any]:
    """Open a node as its kind says."""
    return node.kind(instances).open(context)


class Report(Protocol):
    """Who wants to know how the resources fare."""

    def starting(self, name: str) -> None:
        """A resource begins to open."""

    def ready(self, name: str, seconds: float, summary: str) -> None:
        """A resource is open; `summary` is what it says of itself, such as `14 tools`."""

    def warn(self, name: str, message: str) -> None:
        """Something is wrong with a resource and does not end the run; secrets are masked."""

    def log(self, name: str, message: str) -> None:
        """A line for those who want to know everything; secrets are masked."""


class Live:
    """Instances of what came up."""

    def __init__(self, resolved: Resolved, instances: Mapping[Node, Any]) -> None:
        self.resolved = resolved
        self.instances = instances

    def __getitem__(self, name: str) -> Any:
        """The live instance of a named resource; KeyError where it was not asked for."""
        node = self.resolved.find(name)
        if node is None:
            raise KeyError(name)
        return self.instances[node]


class OpenContext:
    """What a resource gets from the runtime (`runtime.kind.Context`)."""

    def __init__(self, node: Node, masker: Masker, report: Report, code: ImportedCode) -> None:
        self.name = node.name
        self.code = code
        self.folder = Path(node.resource.source.folder)
        self._masker = masker
        self._report = report
        self._node = node

    @property
    def digest(self) -> str:
        return digest_declared(self._node)

    def warn(self, message: str) -> None:
        self._report.warn(self.name, self._masker(message))

    def log(self, message: str) -> None:
        self._report.log(self.name, self._masker(message))

    def mask(self, text: str) -> str:
        return self._masker(text)

    def evaluate(self, value: Any, scope: Mapping[str, Any]) -> Any:
        return evaluate_per_call(value, scope)


class _Owner:
    """One resource's life: the events that its neighbours wait for.

    Its scope shields it from whatever ends the run, so that it always leaves what it entered; `_Supervisor.stop` alone
    cancels it, and only while it is not open yet.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.scope = anyio.CancelScope(shield=True)
        self.ready = anyio.Event()
        self.stopped = anyio.Event()


class _Supervisor:
    """All owners of a set."""

    def __init__(self, resolved: Resolved, report: Report, opener: Opener) -> None:
        self.instances: dict[Node, Any] = {}
        self.settled = anyio.Event()  # everything is open, or something failed
        self.failure: Error | None = None
        self.use = anyio.CancelScope()  # what is done with the set once it is open
        self._owners = {node: _Owner(node) for node in resolved.nodes}
        self._stopping = anyio.Event()
        self._starts = anyio.CapacityLimiter(STARTS_AT_ONCE)
        self._report = report
        self._open = opener
        self._masker = Masker(resolved.values.secrets)
        self._code = resolved.code

    def start(self, group: TaskGroup) -> None:
        if not self._owners:
            self.settled.set()
        owners = sorted(self._owners.values(), key=lambda owner: not owner.node.entry.cls.opens_first)
        for owner in owners:
            group.start_soon(self._own, owner)

    async def stop(self) -> None:
        """Take everything down in reverse; returns when it is."""
        self._stop()
        for owner in self._owners.values():
            await owner.stopped.wait()

    def _stop(self) -> None:
        self._stopping.set()
        for owner in self._owners.values():
            if not owner.ready.is_set():
                owner.scope.cancel()

    async def _own(self, owner: _Owner) -> None:
        node = owner.node
        try:
            with owner.scope:
                for needed in node.needs:
                    await self._owners[needed].ready.wait()
                await self._live(owner)
        except Exception as error:  # the border of a resource: its failure is the set's, told by its cause
            told = _told(node, leaf(error), self._masker)
            if owner.ready.is_set() and self._stopping.is_set():
                self._report.warn(node.name, f"did not stop cleanly: {told.message}")
            elif self.failure is None:
                self.failure = told if owner.ready.is_set() else _start_error(told)
                self.use.cancel()
            self._stop()
            self.settled.set()
        finally:
            owner.stopped.set()

    async def _live(self, owner: _Owner) -> None:
        node = owner.node
        context = OpenContext(node, self._masker, self._report, self._code)
        async with AsyncExitStack() as stack:
            async with self._starts:
                self._report.starting(node.name)
                started = time.perf_counter()
                instance = await stack.enter_async_context(self._open(node, self.instances, context))
            self.instances[node] = instance
            summary = str(getattr(instance, "summary", ""))
            self._report.ready(node.name, time.perf_counter() - started, self._masker(summary))
            owner.ready.set()
            if len(self.instances) == len(self._owners):
                self.settled.set()
            await self._stopping.wait()
            for dependent in node.needed_by:
                await self._owners[dependent].stopped.wait()


@asynccontextmanager
async def bring_up(resolved: Resolved, report: Report, opener: Opener = open_kind) -> AsyncIterator[Live]:
    """Open every node, give what is live, close it all again, whatever happens inside.

    `opener` may open a node otherwise, or put something in the place of its instance, for whoever refers to the node.
    Raises StartError with the code of its cause when a resource does not open, the cause when one dies later on.
    """
    supervisor = _Supervisor(resolved, report, opener)
    try:
        async with anyio.create_task_group() as group:
            supervisor.start(group)
            try:
                await supervisor.settled.wait()
                if supervisor.failure is None:
                    with supervisor.use:
                        yield Live(resolved, supervisor.instances)
            finally:
                with anyio.CancelScope(shield=True):
                    await supervisor.stop()
            if supervisor.failure is not None:
                raise supervisor.failure
    except BaseExceptionGroup as group_error:
        raise leaf(group_error) from None


def leaf(error: BaseException) -> BaseException:
    """The cause inside groups of exceptions: the first one that is not a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _told(node: Node, cause: BaseException, masker: Masker) -> Error:
    """The cause as an error that names the resource, without secrets."""
    if not isinstance(cause, Error):
        error = Error(masker(f"{type(cause).__name__}: {cause}"), resource=node.name)
        error.__cause__ = cause
        return error
    cause.message = masker(cause.message)
    cause.hint = masker(cause.hint) if cause.hint is not None else None
    cause.resource = cause.resource or node.name
    return cause


def _start_error(cause: Error) -> StartError:
    code = cause.code if type(cause) is not Error else None
    error = StartError(cause.message, code=code, resource=cause.resource, hint=cause.hint, details=cause.details)
    error.__cause__ = cause.__cause__ if type(cause) is Error else cause
    return error
