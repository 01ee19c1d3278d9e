"""The legs of the official MCP conformance suite that are fast: `make conformance` runs all of them.

The suite starts a server of its own for each leg, runs `conformance/client.py` against it, and judges what reached the
server. `sse-retry`, which judges delays of a tenth of a second, is not among these: a busy machine fails it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from servers.npm import NODE, SUITE, needs_conformance_suite

CLIENT = f"{sys.executable} {Path(__file__).with_name('conformance') / 'client.py'}"
SECONDS = 120
AT_ONCE = 3

LEGS = [
    "initialize@2025-11-25",
    "tools_call@2025-11-25",
    "tools_call@2026-07-28",
    "elicitation-sep1034-client-defaults@2025-11-25",
    "request-metadata@2026-07-28",
    "sep-2322-client-request-state@2026-07-28",
    "http-standard-headers@2026-07-28",
    "http-custom-headers@2026-07-28",
    "http-invalid-tool-headers@2026-07-28",
    "json-schema-ref-no-deref@2026-07-28",
    "json-schema-2020-12-preservation@2025-11-25",
    "json-schema-2020-12-preservation@2026-07-28",
    "sep-2640-client-no-prefetch@extension",
    "sep-2640-client-verify-digest@extension",
    "sep-2640-client-verify-size@extension",
    "sep-2640-client-verify-frontmatter@extension",
    "auth/client-credentials-basic@extension",
    "auth/client-credentials-jwt@extension",
    "auth/metadata-default@2025-11-25",
    "auth/metadata-var2@2026-07-28",
    "auth/iss-wrong-issuer@2026-07-28",
    "auth/scope-step-up@2026-07-28",
]
"""Scenario and revision of the protocol; an extension belongs to none."""

pytestmark = needs_conformance_suite


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What the suite says of each leg: `passed`, or what it printed."""
    folder = tmp_path_factory.mktemp("conformance")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(LEGS, pool.map(lambda leg: run_leg(leg, folder / leg.replace("/", "_")), LEGS), strict=True))


def run_leg(leg: str, folder: Path) -> str:
    scenario, _, revision = leg.partition("@")
    words = ["--command", CLIENT, "--scenario", scenario, "--timeout", str(SECONDS * 1000), "-o", str(folder)]
    if revision != "extension":
        words += ["--spec-version", revision]
    folder.mkdir()
    done = subprocess.run(
        [NODE, SUITE, "client", *words],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS + 60,
    )
    checks = [check for file in folder.rglob("checks.json") for check in json.loads(file.read_text())]
    earned = [check for check in checks if check["status"] == "SUCCESS" and check["id"] != "wire-schema-valid"]
    if done.returncode == 0 and earned:
        return "passed"
    return f"code {done.returncode}, {len(earned)} checks passed\n{done.stdout[-4000:]}"


@pytest.mark.parametrize("leg", LEGS)
def test_a_leg_of_the_conformance_suite_passes(leg: str, verdicts: Mapping[str, str]) -> None:
    assert verdicts[leg] == "passed"
