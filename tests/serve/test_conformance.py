"""`/mcp` of `runtime serve` before the server half of the official MCP conformance suite: what applies, and is fast.

The suite asks for tools by name, which `conformance/served.yaml` has, and `--expose tools` offers. Each scenario of
`LEGS` passes in the other revision that it has as well; so do `tools-call-image` and `tools-call-embedded-resource`.
What does not apply:

- `resources-*`, `sep-2164-*`, `prompts-*`, `completion-*`, `logging-*`, `caching` (of resources and prompts too),
  `tools-call-with-logging`, `input-required-result-non-tool-request`, `sep-2640-*` (skills): there are tools alone.
- `tools-call-sampling`, `tools-call-elicitation`, `elicitation-*`, other `input-required-result-*`: no tool asks its
  caller for anything; what the server of a tool asks for is answered by what the manifest says.
- `tools-call-with-progress`: wants progress of a tool without arguments. The service tells that of agents, which need a
  prompt (`test_mcp.py` has it); nobody knows that of an exposed tool.
- `server-sse-polling`: wants streams that can be resumed, which is optional: a caller whose stream broke calls again.
- `server-stateless`: what it wants beside the rest needs tools that sample, elicit and log.
- `tasks-*`: an extension that is not offered.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from servers.npm import NODE, SUITE, needs_conformance_suite
from serving import serving

MANIFEST = Path(__file__).parents[1] / "conformance/served.yaml"
SECONDS = 120
AT_ONCE = 3
BOTH = ("tools-list", "tools-call-mixed-content", "tools-call-error", "json-schema-2020-12")
LEGS = [
    *(f"{scenario}@{revision}" for scenario in BOTH for revision in ("2025-11-25", "2026-07-28")),
    "server-initialize@2025-11-25",
    "server-session-lifecycle@2025-11-25",
    "ping@2025-11-25",
    "server-sse-multiple-streams@2025-11-25",
    "dns-rebinding-protection@2025-11-25",
    "tools-call-simple-text@2026-07-28",
    "tools-call-audio@2026-07-28",
    "http-header-validation@2026-07-28",
    "http-custom-header-server-validation@2026-07-28",
    "input-required-result-unsupported-methods@2026-07-28",
]
"""Scenario and revision of the protocol."""
STATELESS = "server-stateless@2026-07-28"
NEEDS_OTHER_TOOLS = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
}
"""Checks of that leg which call tools that sample, elicit or log."""

pytestmark = needs_conformance_suite


class Verdict(NamedTuple):
    """What the suite says of a leg; `failed` has the ids of the checks that did not pass."""

    has_passed: bool
    succeeded: set[str]
    failed: set[str]
    said: str


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Verdict]:
    folder = tmp_path_factory.mktemp("conformance")
    with serving(folder, str(MANIFEST), "--expose", "tools") as served, ThreadPoolExecutor(AT_ONCE) as pool:
        legs = [*LEGS, STATELESS]
        judged = pool.map(lambda leg: run_leg(leg, f"{served.url}/mcp", folder / leg), legs)
        return dict(zip(legs, judged, strict=True))


def run_leg(leg: str, url: str, folder: Path) -> Verdict:
    scenario, _, revision = leg.partition("@")
    folder.mkdir()
    done = subprocess.run(
        [NODE, SUITE, "server", "--url", url, "--scenario", scenario, "--spec-version", revision, "-o", str(folder)],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    checks = [check for file in folder.rglob("checks.json") for check in json.loads(file.read_text())]
    succeeded = {check["id"] for check in checks if check["status"] == "SUCCESS"} - {"wire-schema-valid"}
    failed = {check["id"] for check in checks if check["status"] in ("FAILURE", "WARNING")}
    return Verdict(done.returncode == 0, succeeded, failed, done.stdout[-4000:])


@pytest.mark.parametrize("leg", LEGS)
def test_a_leg_of_the_conformance_suite_passes(leg: str, verdicts: Mapping[str, Verdict]) -> None:
    verdict = verdicts[leg]

    assert (verdict.has_passed, verdict.succeeded != set()) == (True, True), verdict.said


def test_a_stateless_server_lacks_what_other_tools_would_show_and_no_more(verdicts: Mapping[str, Verdict]) -> None:
    verdict = verdicts[STATELESS]

    assert (verdict.failed, len(verdict.succeeded) > 15) == (NEEDS_OTHER_TOOLS, True), verdict.said
