"""A set that stays up and follows its files: read again, checked, and changed where it differs."""

import os
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager

import anyio
import anyio.to_thread

from runtime.checks import Checked, check
from runtime.cli.locking import bring_up_locked
from runtime.cli.output import print_error
from runtime.cli.progress import PlainReport
from runtime.cli.reading import print_found
from runtime.diagnostics import Diagnostic
from runtime.errors import Error, ManifestError
from runtime.lifecycle import Live, Opener, Report, open_kind
from runtime.manifest import Include, Sequence, read_sources
from runtime.manifest import Mapping as Fields
from runtime.reconcile import Difference, Keeper
from runtime.resolver import Resolved, resolve
from runtime.resource_set import Resource

LOOK_SECONDS = 0.5
"""Between two looks at the files: a system call for each of them, and nothing that a platform lacks."""


class KeptSet:
    """The set of the command line under a keeper. `find_roots` says what of it is wanted.

    `checked` is up; `seen` was read last, the reading number `readings`, and is not up where there is a `problem`.
    """

    def __init__(
        self,
        keeper: Keeper,
        find_roots: Callable[[Checked], list[Resource]],
        report: PlainReport,
        options: Namespace,
    ) -> None:
        self.checked: Checked
        self.seen: Checked
        self.readings = 0
        self.problem: Error | None = None
        self.first_look: Mapping[str, object] = {}  # before anything was started: that may take its time
        self._keeper = keeper
        self._find_roots = find_roots
        self._report = report
        self._options = options

    async def bring_up(self, checked: Checked, resolved: Resolved, opener: Opener = open_kind) -> Difference:
        """Put a set in the place of the one that is up. Raises what does not come up; nothing has changed then."""

        def open_set(pooled: Opener, report: Report) -> AbstractAsyncContextManager[Live]:
            return bring_up_locked(checked, resolved, report, self._options, pooled)

        self.first_look = self.first_look or _look_at(checked, self._options.paths)
        difference = await self._keeper.replace(resolved, open_set, _read_lock(checked), opener)
        self.checked = checked
        self._note(checked, None)
        return difference

    async def reload(self) -> Difference:
        """Read the files again, and bring up what they hold. Raises UsageError, ManifestError, and as `bring_up`."""
        checked = self.seen
        try:
            checked = await anyio.to_thread.run_sync(self._read)
            if checked.errors:
                raise ManifestError(checked.diagnostics)
            return await self.bring_up(checked, resolve(checked, self._find_roots(checked)))
        except ManifestError as error:
            print_found(checked, error.diagnostics, self._options)
            self._note(_with(checked, error.diagnostics), error)
            raise
        except Error as error:
            self._note(checked, error)
            raise

    def look(self) -> Mapping[str, object]:
        """The files that the set depends on, each with what changes when it does."""
        return _look_at(self.checked, self._options.paths)

    def _note(self, seen: Checked, problem: Error | None) -> None:
        self.seen, self.problem = seen, problem
        self.readings += 1

    def _read(self) -> Checked:
        options = self._options
        return check(read_sources(options.paths), locked=options.locked, lock_file=options.lock)


def _with(checked: Checked, found: Iterable[Diagnostic]) -> Checked:
    """The same set with other findings."""
    return Checked(checked.sources, checked.resources, checked.scopes, list(found))


async def apply_changes(
    apply: Callable[[], Awaitable[Difference]],
    kept: KeptSet,
    report: PlainReport,
    next_reload: Callable[[], Awaitable[None]],
    *,
    is_watching: bool,
) -> None:
    """Apply the set again whenever `next_reload` returns or its files change; what fails is told, no more."""
    seen = kept.first_look
    while True:
        if is_watching:
            seen = await _until_changed(kept, seen, next_reload)
        else:
            await next_reload()
        try:
            report.tell(f"applied: {await apply()}")
        except ManifestError as error:
            report.tell(f"not applied: {error.message}")
        except Error as error:
            print_error(error)
            report.tell("not applied: all is as it was")
        seen = {path: seen.get(path, mark) for path, mark in kept.look().items()}


async def _until_changed(
    kept: KeptSet, seen: Mapping[str, object], next_reload: Callable[[], Awaitable[None]]
) -> Mapping[str, object]:
    """Until the files are other than `seen` and have come to rest, or `next_reload` returns; how they are then."""
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            await next_reload()
            group.cancel_scope.cancel()

        group.start_soon(wait)
        last = seen
        while True:
            await anyio.sleep(LOOK_SECONDS)
            found = kept.look()
            if found == last and found != seen:
                group.cancel_scope.cancel()
                break
            last = found
    return kept.look()


def _look_at(checked: Checked, paths: list[str]) -> Mapping[str, object]:
    return {path: _look(path) for path in _files(checked, paths)}


def _files(checked: Checked, paths: list[str]) -> Iterator[str]:
    """Sources, folders of which all manifests are taken, what is imported and included, `.env` files, the lock."""
    yield from paths
    yield from checked.resources.registry.local_files
    folders = {resource.source.folder for resource in checked.resources.resources}
    for source in checked.sources:
        yield os.path.join(source.folder, os.path.basename(source.name))
    for folder in folders:
        yield os.path.join(folder, ".env")
    for resource in checked.resources.resources:
        if resource.owner is None:
            for include in _includes(resource.body):
                yield os.path.join(resource.source.folder, include)
    if checked.lock is not None:
        yield checked.lock.path


def _includes(value: object) -> Iterator[str]:
    if type(value) is Include:
        yield str(value)
    elif type(value) is Fields:
        for item in value.values():
            yield from _includes(item)
    elif type(value) is Sequence:
        for item in value:
            yield from _includes(item)


def _look(path: str) -> object:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read_lock(checked: Checked) -> str:
    """What of the lock makes a set another one: a server that is held against another entry is not the same."""
    if checked.lock is None:
        return ""
    with open(checked.lock.path, encoding="utf-8") as file:
        return file.read()
