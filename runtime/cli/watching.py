"""`apply --watch`: what is asked is run again whenever the set changes; what did not change stays up."""

from argparse import Namespace
from collections.abc import Awaitable, Callable

import anyio

from runtime.checks import Checked
from runtime.cli.keeping import KeptSet, apply_changes
from runtime.cli.output import print_error
from runtime.cli.progress import PlainReport
from runtime.errors import Error
from runtime.lifecycle import Live
from runtime.reconcile import Difference, open_keeper
from runtime.resolver import Resolved
from runtime.resource_set import Resource

Roots = Callable[[Checked], list[Resource]]
Work = Callable[[Live, Checked], Awaitable[object]]


async def apply_watched(
    checked: Checked, resolved: Resolved, roots: Roots, work: Work, report: PlainReport, options: Namespace
) -> int:
    """Bring the set up and do the work, again after each change, until a signal. Raises what fails at the start."""
    async with open_keeper(report) as keeper:
        kept = KeptSet(keeper, roots, report, options)
        await kept.bring_up(checked, resolved)

        async def do_work() -> None:
            with keeper.current.used() as live:
                try:
                    await work(live, kept.checked)
                except Error as error:
                    print_error(error)

        async def apply() -> Difference:
            difference = await kept.reload()
            await do_work()
            return difference

        await do_work()
        report.tell("watching the files of the set")
        await apply_changes(apply, kept, report, anyio.sleep_forever, is_watching=True)
    return 0
