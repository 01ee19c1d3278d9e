"""What SECURITY.md promises, where no other test keeps it, and that each promise names a test."""

import json
import re
import sys
from pathlib import Path

from command import left_behind, run

ROOT = Path(__file__).parent.parent
SERVER = Path(__file__).parent / "servers" / "stdio.py"
TRICKS = ["$(touch made)", "`touch made`", "; touch made", "$HOME", "~", "*", "a b", 'say "hi"', "it's", "%PATH%", ""]


def test_validate_starts_nothing(tmp_path: Path) -> None:
    made = tmp_path / "made"
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(
        f"""
kind: Runtime.Application
metadata: {{ name: App }}
secrets: {{ token: {{ command: [touch, {made}] }} }}
---
kind: Ai.Agent
metadata: {{ name: Assistant }}
model: {{ kind: Ai.ScriptedModel }}
toolProviders:
  - provider:
      kind: AiMcp.ToolProvider
      client: {{ kind: Mcp.StdioClient, command: touch, args: [{made}], env: {{ TOKEN: "${{{{ secrets.token }}}}" }} }}
"""
    )

    ended = [run(tmp_path, "validate", str(manifest), *more) for more in ([], ["--env"], ["--output", "sarif"])]

    assert [each.code for each in ended] == [0, 0, 0]
    assert not made.exists()
    assert left_behind(tmp_path) == []


def test_words_reach_a_server_as_they_stand(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.yaml"
    words = json.dumps([str(SERVER), *TRICKS])
    manifest.write_text(
        f"kind: Mcp.StdioClient\nmetadata: {{ name: Server }}\ncommand: {sys.executable}\nargs: {words}\n"
    )

    ended = run(tmp_path, "call", str(manifest), "Server", "words")

    assert json.loads(ended.out)["structuredContent"] == {"words": TRICKS}
    assert not (tmp_path / "made").exists()


def test_a_tool_that_was_left_out_cannot_be_called(tmp_path: Path) -> None:
    marker = tmp_path / "manifest.yaml"
    marker.write_text(
        f"""
kind: Ai.Agent
metadata: {{ name: Assistant }}
model:
  kind: Ai.ScriptedModel
  turns:
    - toolCalls: [{{ name: crash, allowUnknown: true }}, {{ name: echo, arguments: {{ text: still here }} }}]
    - text: done
toolProviders:
  - provider:
      kind: AiMcp.ToolProvider
      client: {{ kind: Mcp.StdioClient, command: {sys.executable}, args: [{SERVER}], restart: never }}
    include: [echo]
"""
    )

    ended = run(tmp_path, "apply", str(marker), "--prompt", "go", "--output", "json", "--quiet")

    refused, answered = json.loads(ended.out)["steps"][0]["toolResults"]
    assert refused["isError"]
    assert answered["content"] == "still here"


def test_every_promise_names_tests_that_there_are() -> None:
    promises = (ROOT / "SECURITY.md").read_text().partition("## What is promised")[2].partition("\n## ")[0]
    items = re.findall(r"^- (.*(?:\n  .*)*)", promises, re.MULTILINE)
    there = {
        name for file in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())
    }

    assert len(items) > 5
    assert [item for item in items if not re.search(r"`test_\w+`", item)] == []
    assert set(re.findall(r"`(test_\w+)`", promises)) - there == set()
