"""Runs that are kept, as `apply` has them: named, followed, and not left half done by a process that could end them."""

from argparse import Namespace
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from runtime.ai.approval import approvals_by
from runtime.cli.approval import TerminalApprover
from runtime.cli.progress import PlainReport
from runtime.cli.targets import run_targets
from runtime.errors import Error, UsageError
from runtime.lifecycle import Live
from runtime.resolver import Resolved
from runtime.resource_set import Resource


@asynccontextmanager
async def leaving_queued(resolved: Resolved, approver: TerminalApprover) -> AsyncIterator[None]:
    """A store that is opened within the block leaves queued runs to workers, and takes up what silent processes left.

    The approver is asked for the calls of those.
    """
    if not any(node.entry.fits("Durable.Store") for node in resolved.nodes):
        yield
        return
    from runtime.durable.intake import Intake, taking_up

    with approvals_by(approver):
        intake = Intake(0)
    with taking_up(intake):
        yield


async def run_kept(
    live: Live,
    targets: list[Resource],
    inputs: Mapping[str, Any],
    options: Namespace,
    report: PlainReport,
    approver: TerminalApprover,
) -> int:
    """As `run_targets`. Runs that are kept have ids, which are told; where none is kept nothing is done beside."""
    nodes = {node.resource: node for node in live.resolved.nodes}
    kept = [target for target in targets if getattr(live.instances[nodes[target]], "is_kept", False)]
    if options.run_id is not None and (len(targets) > 1 or not kept):
        raise UsageError('"--run-id" is for one agent or task whose runs are kept', hint="give it the field `durable`")
    stores = [instance for instance in live.instances.values() if hasattr(instance, "drain")]
    if not stores:
        return await run_targets(live, targets, inputs, options)
    from uuid import uuid4

    from runtime.ai.uncertainty import uncertain_by

    run_ids = {target: options.run_id or uuid4().hex for target in kept}
    for target, run_id in run_ids.items():
        report.tell(f'{target.title}: run {run_id}; "--run-id {run_id}" goes on with it')
    try:
        with uncertain_by(approver.decide):
            code = await run_targets(live, targets, inputs, options, run_ids)
    except Error:
        await _drain(stores)
        raise
    await _drain(stores)
    return code


async def _drain(stores: list[Any]) -> None:
    """Wait for runs of others that were taken up here: their calls are not to be cut off."""
    for store in stores:
        await store.drain()
