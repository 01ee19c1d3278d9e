"""Manifests with MCP clients, applied in the test's own process."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from runtime.checks import check
from runtime.lifecycle import Live, bring_up
from runtime.manifest import Source
from runtime.resolver import resolve

HOSTILE = Path(__file__).parents[2] / "servers" / "hostile.py"


class Quiet:
    """Takes what a start reports; warnings and summaries are kept."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.summaries: dict[str, str] = {}

    def starting(self, name: str) -> None: ...

    def ready(self, name: str, seconds: float, summary: str) -> None:
        self.summaries[name] = summary

    def warn(self, name: str, message: str) -> None:
        self.warnings.append(f"{name}: {message}")

    def log(self, name: str, message: str) -> None: ...


@pytest.fixture
def report() -> Quiet:
    return Quiet()


@pytest.fixture
def validate() -> Callable[[str], list[str]]:
    """What `validate` says of a manifest: place, code, message."""

    def findings(manifest: str) -> list[str]:
        checked = check([Source("manifest.yaml", dedent(manifest).encode(), ".")])
        return [f"{found.line}:{found.column} {found.code} {found.message}" for found in checked.diagnostics]

    return findings


@pytest.fixture
def apply(report: Quiet, tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Live]]:
    """Brings every named resource of a manifest up; keywords are the process's environment."""

    @asynccontextmanager
    async def bring(manifest: str, **environment: str) -> AsyncIterator[Any]:
        text = dedent(manifest).replace("HOSTILE", str(HOSTILE))
        checked = check([Source("manifest.yaml", text.encode(), str(tmp_path))])
        assert [found for found in checked.diagnostics if found.severity == "error"] == []
        named = [(resource, entry) for resource, entry in checked.resources.known() if resource.owner is None]
        roots = [resource for resource, entry in named if entry.name != "Runtime.Application"]
        async with bring_up(resolve(checked, roots, environment), report) as live:
            yield live

    return bring
