"""Coverage: what the cases of a set use of it, and what none of them does."""

from pathlib import Path

import anyio
import pytest

from runtime.checks import check
from runtime.manifest import Source
from runtime.testing.coverage import Coverage, Totals, count, find_unused
from runtime.testing.coverage_page import coverage_page
from runtime.testing.running import CaseRunner, run_cases
from runtime.testing.setup import find_cases

pytestmark = pytest.mark.anyio

SET = """\
kind: Mcp.ScriptedServer
metadata: { name: Files }
tools: [{ name: read, answers: [{ text: milk }] }, { name: "<write>" }]
---
kind: Mcp.ScriptedServer
metadata: { name: Other }
tools: [{ name: idle }]
---
kind: AiMcp.ToolProvider
metadata: { name: FileTools }
client: !ref Files
---
kind: AiMcp.ToolProvider
metadata: { name: OtherTools }
client: !ref Other
---
kind: Ai.Tools
metadata: { name: Helpers }
tools:
  - { tool: !ref Reader, name: ask_reader, parameters: { type: object, properties: { prompt: { type: string } } } }
---
kind: Ai.ScriptedModel
metadata: { name: Script }
rules:
  - { when: { user: read }, toolCalls: [{ name: fs_read }] }
  - { when: { user: delegate }, toolCalls: [{ name: ask_reader, arguments: { prompt: read } }] }
  - { when: { toolResult: . }, text: done }
  - { text: nothing to do }
---
kind: Ai.Agent
metadata: { name: Reader }
model: !ref Script
toolProviders: [{ provider: !ref FileTools, prefix: fs_ }, { provider: !ref OtherTools }]
---
kind: Ai.Agent
metadata: { name: Boss }
model: !ref Script
toolProviders: [{ provider: !ref Helpers }]
---
kind: Ai.Task
metadata: { name: Idle }
agent: !ref Boss
prompt: nothing
---
"""


def case(name: str, agent: str, prompt: str) -> str:
    return f"kind: Test.Case\nmetadata: {{ name: {name} }}\nagent: !ref {agent}\nprompt: {prompt}\n---\n"


async def cover(*cases: str) -> Coverage:
    checked = check([Source("set.yaml", (SET + "".join(cases)).rstrip("-\n").encode(), ".")])
    assert checked.errors == 0
    coverage = Coverage(checked)
    with anyio.fail_after(30):
        outcomes = await run_cases(CaseRunner(checked, opener=coverage.open), find_cases(checked), jobs=1)
    assert [outcome.failures for outcome in outcomes] == [[] for _ in cases]
    return coverage


async def test_what_no_case_used_is_told() -> None:
    coverage = await cover(case("Reads", "Reader", "read"))

    assert count(coverage) == Totals((1, 3), (1, 3), (1, 3))
    assert find_unused(coverage) == [
        "agent Boss: run by no case",
        "agent Idle: run by no case",
        "provider OtherTools: no tool of it was called",
        "provider Helpers: no tool of it was called",
        "tool fs_<write> of Reader: called by no case",
        "tool idle of Reader: called by no case",
    ]


async def test_what_an_agent_uses_through_another_counts() -> None:
    coverage = await cover(case("Delegates", "Boss", "delegate"), case("Idles", "Idle", "whatever"))

    assert find_unused(coverage) == [
        "provider OtherTools: no tool of it was called",
        "tool fs_<write> of Reader: called by no case",
        "tool idle of Reader: called by no case",
    ]


async def test_the_page_says_the_same_and_nothing_of_a_name_acts_in_it(tmp_path: Path) -> None:
    page = coverage_page([await cover(case("Reads", "Reader", "read"))])

    assert "<p>1 of 3 agents, 1 of 3 providers, 1 of 3 offered tools</p>" in page
    assert '<tr class="yes"><td>fs_read</td><td>FileTools</td><td>yes</td></tr>' in page
    assert '<tr class="no"><td>fs_&lt;write&gt;</td><td>FileTools</td><td>no</td></tr>' in page
    assert '<h2>Boss</h2>\n<p class="no">Run by no case.</p>' in page
    assert "<write>" not in page
