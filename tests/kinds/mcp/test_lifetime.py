"""`lifetime: run`: each run of an agent has a server of its own."""

import sys

import pytest

pytestmark = pytest.mark.anyio

MANIFEST = f"""
kind: Mcp.StdioClient
metadata: {{ name: Server }}
command: {sys.executable}
args: [-S, -E, HOSTILE]
lifetime: LIFETIME
---
kind: AiMcp.ToolProvider
metadata: {{ name: Tools }}
client: !ref Server
---
kind: Ai.ScriptedModel
metadata: {{ name: Model }}
turns:
  - toolCalls: [{{ name: pid, arguments: {{}} }}, {{ name: pid, arguments: {{}} }}]
  - text: done
---
kind: Ai.Agent
metadata: {{ name: Agent }}
model: !ref Model
toolProviders: [{{ provider: !ref Tools }}]
"""


async def run_twice(apply, lifetime: str) -> list[list[str]]:
    """The pids of the servers that two runs talked to."""
    async with apply(MANIFEST.replace("LIFETIME", lifetime)) as live:
        answers = [await live["Agent"].invoke({"prompt": "go"}) for _ in range(2)]
    return [
        [str(result["content"]) for step in answer["steps"] for result in step.get("toolResults", [])]
        for answer in answers
    ]


async def test_a_run_has_a_server_of_its_own(apply):
    first, second = await run_twice(apply, "run")

    assert first[0] == first[1]
    assert second[0] == second[1]
    assert first[0] != second[0]


async def test_runs_share_a_server_where_nothing_else_is_said(apply):
    first, second = await run_twice(apply, "shared")

    assert {*first} == {*second}
    assert len({*first}) == 1
