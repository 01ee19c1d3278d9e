"""Carry on the queued runs of a set of manifests, and those of processes that died, until it is ended."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runtime.checks import Checked
from runtime.cli import approval, bringing_up, otel
from runtime.cli.counts import count
from runtime.cli.lock_arguments import add_locked_arguments
from runtime.cli.progress import PlainReport
from runtime.cli.signals import Signals
from runtime.errors import UsageError
from runtime.masking import Masker
from runtime.resource_set import Resource

if TYPE_CHECKING:
    from runtime.durable.intake import CarriedRun
    from runtime.lifecycle import Live


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime worker`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, a glob, or - for standard input")
    parser.add_argument(
        "--concurrency", type=count(1), default=16, metavar="N", help="most runs at a time in this process (16)"
    )
    parser.add_argument(
        "--target", action="append", default=[], metavar="NAME", help="only runs of this agent or task; repeatable"
    )
    parser.add_argument(
        "--drain-seconds", type=count(0), default=30, metavar="N", help="for running runs when the worker ends (30)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress and no line per run")
    parser.add_argument("--verbose", action="store_true", help="what servers log, and what is retried")
    add_locked_arguments(parser)
    approval.add_arguments(parser)
    otel.add_arguments(parser)


def run(options: Namespace) -> int:
    """0 after SIGTERM, once what ran is done; 130 after SIGINT; other codes as in design.md section 9."""
    checked = bringing_up.read_checked(options, with_lock=True)
    roots = _find_kept(checked, options.target)
    resolved = bringing_up.resolve_printed(checked, roots, options)
    signals = Signals()

    async def main(report: PlainReport) -> int:
        from runtime.ai.approval import approvals_by
        from runtime.cli.locking import bring_up_locked
        from runtime.durable.intake import Intake, taking_up

        approver = approval.TerminalApprover(options.approve, report, Masker(resolved.values.secrets))
        async with otel.traced(options, report):
            with approvals_by(approver):
                intake = Intake(options.concurrency, lambda carried: _tell_run(report, carried))
            with taking_up(intake):
                async with bring_up_locked(checked, resolved, report, options) as live:
                    names = ", ".join(root.title for root in roots)
                    report.tell(f"takes up runs of {names}; at most {options.concurrency} at a time")
                    await _until_ended(live, signals, report)
                    stores = [live.instances[node] for node in resolved.nodes if node.entry.fits("Durable.Store")]
                    await _drain(stores, options.drain_seconds, report)
        return signals.code

    return bringing_up.run_until_signal(main, options, take=signals.take)


def _find_kept(checked: Checked, names: Sequence[str]) -> list[Resource]:
    """What keeps its runs, or of that what is named; raises UsageError where there is nothing of it."""
    kept = [resource for resource in bringing_up.invocables(checked) if "durable" in resource.body]
    if not kept:
        raise UsageError("the set has nothing that keeps its runs", hint='put "durable" on an agent or a task')
    titles = [resource.title for resource in kept]
    for name in names:
        if name not in titles:
            raise UsageError(f'nothing that keeps its runs is called "{name}"', hint=f"there are: {', '.join(titles)}")
    return [resource for resource in kept if not names or resource.title in names]


async def _until_ended(live: "Live", signals: Signals, report: PlainReport) -> None:
    """Begin what begins by the clock until the worker is asked to end."""
    import anyio

    scheduled = [instance for instance in live.instances.values() if getattr(instance, "schedule", "")]
    if not scheduled:
        await signals.ended()
        return
    from runtime.durable.schedules import begin_by_clock

    async with anyio.create_task_group() as group:
        group.start_soon(begin_by_clock, lambda: scheduled, anyio.sleep_forever, report.tell)
        await signals.ended()
        group.cancel_scope.cancel()


async def _drain(stores: Sequence[Any], seconds: float, report: PlainReport) -> None:
    """Take up no more, and give what runs its time; what is not over then is left interrupted, and told as such."""
    import anyio

    report.tell("draining: runs that are under way end, no other begins")
    with anyio.move_on_after(seconds):
        for store in stores:
            await store.drain()


def _tell_run(report: PlainReport, carried: "CarriedRun") -> None:
    message = f": {carried.message}" if carried.message else ""
    report.tell(f"{carried.target} {carried.id} {carried.outcome} in {carried.seconds:.1f} s{message}")
