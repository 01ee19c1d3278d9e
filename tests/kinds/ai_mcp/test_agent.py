"""An agent whose tools come from MCP: servers that are not there, and what a server says of its use."""

import sys
from pathlib import Path
from typing import Any

import pytest

import runtime

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).parents[2] / "servers" / "stdio.py"
RULES = """\
toolProviders: [{ provider: !ref Tools, prefix: s_, include: ["*echo"] }]
requireApproval: ["s_*echo"]
"""


def manifest(folder: Path, client: str, provider: str, expect: str = "{}", rules: str = RULES) -> str:
    path = folder / "app.yaml"
    path.write_text(
        f"""\
kind: Mcp.StdioClient
metadata: {{ name: Server }}
{client}
---
{provider}
---
kind: Ai.Agent
metadata: {{ name: Main }}
system: Be brief.
model: {{ kind: Ai.ScriptedModel, turns: [{{ text: done, expect: {expect} }}] }}
{rules}
"""
    )
    return str(path)


ABSENT = "command: no-such-program-4711\nrequired: false"
THERE = f'command: {sys.executable}\nargs: [{SERVER}, --instructions, "Echo \\u202eonce."]\n'
PROVIDER = "kind: AiMcp.ToolProvider\nmetadata: { name: Tools }\nclient: !ref Server"
SERVICE = "kind: AiMcp.ToolService\nmetadata: { name: Tools }\nclients: [!ref Server]\nenabled: "


async def invoke(path: str) -> dict[str, Any]:
    async with runtime.open_manifests(path, names=["Main"], environment={}) as live:
        answer: dict[str, Any] = await live["Main"].invoke({"prompt": "go"})
    return answer


@pytest.mark.parametrize("provider", [PROVIDER, SERVICE + "true", SERVICE + "false"])
async def test_filters_and_approval_may_name_the_tools_of_an_optional_server_that_is_not_there(tmp_path, provider):
    assert (await invoke(manifest(tmp_path, ABSENT, provider)))["text"] == "done"


@pytest.mark.parametrize(
    ("rule", "code"), [('["*echo"]', "ERR_AGENT_TOOL_FILTER"), ('["s_*echo"]', "ERR_AGENT_APPROVAL")]
)
async def test_filters_and_approval_have_to_fit_the_tools_of_a_server_that_is_there(tmp_path, rule, code):
    path = manifest(tmp_path, THERE, PROVIDER, rules=RULES.replace(rule, "[gone]"))

    with pytest.raises(runtime.AgentError) as raised:
        await invoke(path)

    assert raised.value.code == code


async def test_what_a_server_says_of_its_use_stays_out_of_the_system_text(tmp_path):
    assert (await invoke(manifest(tmp_path, THERE, PROVIDER, expect="{ system: '^Be brief.$' }")))["text"] == "done"


async def test_what_a_server_says_of_its_use_joins_the_system_text_where_the_client_lets_it(tmp_path):
    said = 'How to use the tools of Tools, whose names start with "s_" here:\\nEcho once.'
    client = THERE + "serverInstructions: system"

    answer = await invoke(manifest(tmp_path, client, PROVIDER, expect=f"{{ system: '^Be brief.\\n\\n{said}$' }}"))

    assert answer["text"] == "done"
