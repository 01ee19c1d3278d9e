"""`runtime serve` under load, and while its servers die."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
from command import environment
from serving import serving

ROOT = Path(__file__).parents[2]
STDIO = str(ROOT / "tests/servers/stdio.py")
PAIR = """
kind: Mcp.StdioClient
metadata: {{ name: {name}Server }}
command: "{python}"
args: ["{server}", "{name}"]
---
kind: AiMcp.ToolProvider
metadata: {{ name: {name}Tools }}
client: !ref {name}Server
---
kind: Ai.ScriptedModel
metadata: {{ name: {name}Model }}
rules:
  - when: {{ toolResult: "." }}
    text: "got ${{{{ result }}}}"
  - toolCalls: [{{ name: echo, arguments: {{ text: "{name}" }} }}]
---
kind: Ai.Agent
metadata: {{ name: {name} }}
model: !ref {name}Model
toolProviders: [{{ provider: !ref {name}Tools }}]
"""


def test_no_chat_of_many_is_lost(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/serve.py"), "--chats", "100", "--runs", "200", "--output", "json"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["chats"], found["runs"], found["lost"]) == (100, 200, 0)
    assert found["firstEventP99Ms"] > 0


def test_the_death_of_a_server_is_felt_by_those_who_use_it_and_it_comes_back(tmp_path: Path) -> None:
    parts = [PAIR.format(name=name, python=sys.executable, server=STDIO) for name in ("Left", "Right")]
    (tmp_path / "pair.yaml").write_text("---".join(parts))
    with serving(tmp_path, "pair.yaml") as served:

        def ask(name: str) -> str:
            answer = served.client.post("/runs", json={"target": name, "inputs": {"prompt": "hi"}, "wait": True})
            return str(answer.json()["result"]["text"])

        assert (ask("Left"), ask("Right")) == ("got Left", "got Right")
        found = [child.info for child in psutil.process_iter(["pid", "cmdline", "environ"])]
        [server] = [
            psutil.Process(each["pid"])
            for each in found
            if (each["cmdline"] or [])[1:] == [STDIO, "Left"] and each["environ"].get("TMPDIR") == str(tmp_path)
        ]
        server.kill()
        server.wait()
        others = [ask("Right") for _ in range(5)]
        texts = [ask("Left")]
        while texts[-1] != "got Left" and len(texts) < 1000:
            texts.append(ask("Left"))

    assert (others, texts[-1]) == (["got Right"] * 5, "got Left")
