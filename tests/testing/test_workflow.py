"""The workflow that `docs/test-agents.md` ends with, each of its commands run as GitHub runs it."""

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import yaml
from command import environment, left_behind, run

PAGE = Path(__file__).parent.parent.parent / "docs/test-agents.md"
FENCE = re.compile(r"^```yaml title=(?P<title>\S+)\n(?P<body>(?:.*\n)*?)^```$", re.MULTILINE)
WORKFLOW = ".github/workflows/agents.yaml"


def test_the_workflow_is_green_with_what_was_committed(tmp_path: Path) -> None:
    for block in FENCE.finditer(PAGE.read_text(encoding="utf-8")):
        path = tmp_path / block["title"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block["body"], encoding="utf-8")
    recorded = run(tmp_path, "test", "clock", "--record-missing")
    assert recorded.code == 0, recorded.out
    manifest = tmp_path / "clock/clock.yaml"
    manifest.write_text(manifest.read_text().replace("mcp-server-time", "a-server-that-ci-has-not"))

    steps = yaml.safe_load((tmp_path / WORKFLOW).read_text())["jobs"]["test"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    codes = [
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
            env=environment(tmp_path, CI="true", PIP_NO_INDEX="1"),
            cwd=tmp_path,
            timeout=60,
        ).returncode
        for command in commands
    ]

    assert [command.split()[:2] for command in commands] == [
        ["python", "-m"],
        ["runtime", "validate"],
        ["runtime", "test"],
    ]
    assert codes == [0, 0, 0]
    results = ElementTree.parse(tmp_path / "results.xml").getroot()
    assert (results.get("tests"), results.get("failures")) == ("4", "0")
    assert left_behind(tmp_path) == []
