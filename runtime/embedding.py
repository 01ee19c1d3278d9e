"""The runtime inside another Python program: the same checks and the same lifecycle as on the command line."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from runtime.checks import check
from runtime.diagnostics import Diagnostic
from runtime.errors import ManifestError, UsageError
from runtime.lifecycle import Report, bring_up
from runtime.manifest import read_sources
from runtime.resolver import resolve


def validate(*paths: str) -> list[Diagnostic]:
    """Every finding of a set of manifests, sorted; nothing is started.

    Raises UsageError for a path that cannot be read.
    """
    return check(read_sources(paths)).diagnostics


@asynccontextmanager
async def open_manifests(
    *paths: str,
    names: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    report: Report | None = None,
) -> AsyncIterator[Mapping[str, Any]]:
    """Bring a set up and give its live instances by name: an agent has `invoke(inputs)` and `run(inputs)`.

    `names` limits it to these resources and what they need; without it that is everything but test cases.
    `environment` stands in for the process's own when secrets and variables are read. Leaving stops everything. Raises
    ManifestError with every finding, UsageError for a name that is not there, StartError when a resource does not open.
    """
    checked = check(read_sources(paths))
    if checked.errors:
        raise ManifestError(checked.diagnostics)
    named = [(resource, entry) for resource, entry in checked.resources.known() if resource.owner is None]
    known = {resource.name: resource for resource, _ in named}
    missing = [name for name in names or () if name not in known]
    if missing:
        raise UsageError(f'there is no resource "{missing[0]}"', hint=f"there are: {', '.join(map(str, known))}")
    everything = [resource for resource, entry in named if not entry.fits("Runtime.Case")]
    roots = [known[name] for name in names] if names is not None else everything
    roots = [resource for resource in roots if not resource.is_application]
    resolved = resolve(checked, roots, environment)
    async with bring_up(resolved, report or _Silence()) as live:
        yield {str(node.resource.name): live.instances[node] for node in resolved.nodes if node.resource.owner is None}


class _Silence(Report):
    """Warnings go to the logger `runtime`, nothing else is told."""

    def starting(self, name: str) -> None:
        """Nothing."""

    def ready(self, name: str, seconds: float, summary: str) -> None:
        """Nothing."""

    def warn(self, name: str, message: str) -> None:
        import logging

        logging.getLogger("runtime").warning("%s: %s", name, message)

    def log(self, name: str, message: str) -> None:
        import logging

        logging.getLogger("runtime").info("%s: %s", name, message)
