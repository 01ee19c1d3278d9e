"""`runtime serve`: an MCP server that is killed under load fails the runs that used it, and no other."""

import os
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
from command import LIMIT
from serving import Served, serving

STDIO = str(Path(__file__).parents[1] / "servers/stdio.py")
PART = """
kind: Mcp.StdioClient
metadata: {{ name: {name}Server }}
command: "{python}"
args: ["{server}", "{name}"]
---
kind: Ai.Agent
metadata: {{ name: {name} }}
model:
  kind: Ai.ScriptedModel
  rules:
    - when: {{ toolResult: ".+" }}
      text: "${{{{ result }}}}"
    - when: {{ user: wait }}
      toolCalls: [{{ name: wait, arguments: {{ port: {port} }} }}]
    - toolCalls: [{{ name: echo, arguments: {{ text: back }} }}]
toolProviders: [{{ provider: {{ kind: AiMcp.ToolProvider, client: !ref {name}Server }} }}]
---
"""
HELD = 10
BESIDE = 40


def ask(served: Served, agent: str, prompt: str) -> dict[str, Any]:
    body = {"target": agent, "inputs": {"prompt": prompt}, "wait": True}
    answer = served.client.post("/runs", json=body)
    assert answer.status_code == 200, answer.text
    result = answer.json()["result"]
    [step] = [step for step in result["steps"] if step["toolResults"]]
    return {"text": result["text"], "code": step["toolResults"][0].get("code", "")}


def find_server(served: Served, name: str) -> int:
    found = [
        child.pid
        for child in psutil.Process(served.process.pid).children(recursive=True)
        if child.cmdline()[1:3] == [STDIO, name]
    ]
    return found[0]


def test_a_killed_server_fails_the_calls_that_it_had_and_is_back_for_the_next(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=HELD) as listener, ThreadPoolExecutor(HELD + BESIDE) as pool:
        listener.settimeout(LIMIT)
        port = listener.getsockname()[1]
        parts = [PART.format(name=name, python=sys.executable, server=STDIO, port=port) for name in ("Left", "Right")]
        (tmp_path / "two.yaml").write_text("".join(parts).removesuffix("---\n"))
        with serving(tmp_path, "two.yaml") as served:
            held = [pool.submit(ask, served, "Left", "wait") for _ in range(HELD)]
            connections = [listener.accept()[0] for _ in range(HELD)]
            beside = [pool.submit(ask, served, "Right", "echo") for _ in range(BESIDE)]
            first = find_server(served, "Left")
            os.kill(first, signal.SIGKILL)
            lost = [future.result(LIMIT) for future in held]
            others = [future.result(LIMIT) for future in beside]
            again = [future.result(LIMIT) for future in [pool.submit(ask, served, "Left", "echo") for _ in range(HELD)]]
            second = find_server(served, "Left")
        for connection in connections:
            connection.close()

    assert {answer["code"] for answer in lost} == {"ERR_MCP_TRANSPORT"}
    assert others == [{"text": "back", "code": ""}] * BESIDE
    assert (again, second == first) == ([{"text": "back", "code": ""}] * HELD, False)
