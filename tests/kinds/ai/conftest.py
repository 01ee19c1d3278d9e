"""Manifests applied in the test's own process: checked, resolved, opened."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from textwrap import dedent
from typing import Any

import pytest

from runtime.checks import check
from runtime.lifecycle import Live, bring_up
from runtime.manifest import Source
from runtime.resolver import resolve


class Quiet:
    """Takes what a start reports; `warnings` are kept."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def starting(self, name: str) -> None: ...

    def ready(self, name: str, seconds: float, summary: str) -> None: ...

    def warn(self, name: str, message: str) -> None:
        self.warnings.append(f"{name}: {message}")

    def log(self, name: str, message: str) -> None: ...


@pytest.fixture
def report() -> Quiet:
    return Quiet()


def findings(manifest: str) -> list[str]:
    """What `validate` says of a manifest: code, place, message."""
    checked = check([Source("manifest.yaml", dedent(manifest).encode(), ".")])
    return [f"{found.line}:{found.column} {found.code} {found.message}" for found in checked.diagnostics]


@pytest.fixture
def validate() -> Callable[[str], list[str]]:
    return findings


@pytest.fixture
def apply(report: Quiet) -> Callable[[str], AbstractAsyncContextManager[Live]]:
    """Brings every named resource of a manifest up."""

    @asynccontextmanager
    async def bring(manifest: str) -> Any:
        checked = check([Source("manifest.yaml", dedent(manifest).encode(), ".")])
        assert [found for found in checked.diagnostics if found.severity == "error"] == []
        named = [(resource, entry) for resource, entry in checked.resources.known() if resource.owner is None]
        roots = [resource for resource, entry in named if entry.name != "Runtime.Application"]
        async with bring_up(resolve(checked, roots, {}), report) as live:
            yield live

    return bring
