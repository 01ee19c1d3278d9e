"""A set that comes up under its lock: every list of tools is held against it before a model sees it."""

from argparse import Namespace
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from runtime.checks import Checked
from runtime.kind import Context
from runtime.lifecycle import Live, Opener, Report, bring_up, open_kind
from runtime.masking import Masker
from runtime.resolver import Node, Resolved


@asynccontextmanager
async def bring_up_locked(
    checked: Checked, resolved: Resolved, report: Report, options: Namespace, opener: Opener = open_kind
) -> AsyncIterator[Live]:
    """As `bring_up`; with a lock, what differs from it is a warning, or ExpectationError under `--locked`."""
    if checked.lock is None:
        async with bring_up(resolved, report, opener) as live:
            yield live
        return
    from runtime.lock.definition import find_clients
    from runtime.lock.guard import LockGuard

    masker = Masker(resolved.values.secrets)
    guard = LockGuard(checked.lock, locked=options.locked, masker=masker, warn=report.warn)
    keys = {resource: key for key, resource in find_clients(checked.resources).items()}

    @asynccontextmanager
    async def open_guarded(node: Node, instances: Mapping[Node, Any], context: Context) -> AsyncIterator[Any]:
        key = keys.get(node.resource)
        async with opener(node, instances, context) as instance:
            yield guard.protect(key, instance) if key is not None else instance

    async with bring_up(resolved, report, open_guarded) as live:
        await guard.meet()
        yield live
