"""A set that comes up under its lock: every list of tools is held against it before a model sees it."""

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from runtime.checks import Checked
from runtime.cli.progress import PlainReport
from runtime.lifecycle import Live, bring_up
from runtime.masking import Masker
from runtime.resolver import Node, Resolved


@asynccontextmanager
async def bring_up_locked(
    checked: Checked, resolved: Resolved, report: PlainReport, options: Namespace
) -> AsyncIterator[Live]:
    """As `bring_up`; with a lock, what differs from it is a warning, or ExpectationError under `--locked`."""
    if checked.lock is None:
        async with bring_up(resolved, report) as live:
            yield live
        return
    from runtime.lock.definition import find_clients
    from runtime.lock.guard import LockGuard

    masker = Masker(resolved.values.secrets)
    guard = LockGuard(checked.lock, locked=options.locked, masker=masker, warn=report.warn)
    keys = {resource: key for key, resource in find_clients(checked.resources).items()}

    def protect(node: Node, instance: Any) -> Any:
        key = keys.get(node.resource)
        return guard.protect(key, instance) if key is not None else instance

    async with bring_up(resolved, report, protect) as live:
        await guard.meet()
        yield live
