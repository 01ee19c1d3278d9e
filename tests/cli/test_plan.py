"""`runtime plan`: what `apply` would do, by name and in order, with nothing started and no secret shown."""

import json
from pathlib import Path

import pytest
from command import run
from lock_cases import CASES

from runtime.ai.contracts import Tool
from runtime.ai.formats import convert

SET = """\
kind: Runtime.Application
metadata: { name: App }
variables: { host: { env: NOTES_HOST } }
secrets:
  token: { command: [touch, read-a-secret] }
targets: [!ref Clerk]
---
kind: Ai.Agent
metadata: { name: Clerk }
model: !ref Gpt
toolProviders:
  - provider: !ref NoteTools
    prefix: n_
    include: ["get_*", put]
    exclude: [get_all]
  - provider:
      kind: Ai.Tools
      tools: [{ tool: !ref Helper, name: help, parameters: { type: object } }]
---
kind: Ai.Agent
metadata: { name: Helper }
model: !ref Gpt
---
kind: AiOpenai.OpenaiModel
metadata: { name: Gpt }
model: gpt-4o-mini
apiKey: "${{ secrets.token }}"
headers: { X-Team: blue }
---
kind: AiMcp.ToolService
metadata: { name: NoteTools }
clients: [!ref Notes, !ref Local]
enabled: true
---
kind: Mcp.HttpClient
metadata: { name: Notes }
url: "https://${{ variables.host }}/mcp?key=${{ secrets.token }}"
headers: { X-Key: "${{ secrets.token }}" }
auth: { bearer: "${{ secrets.token }}" }
---
kind: Mcp.StdioClient
metadata: { name: Local }
command: touch
args: [started, "--token=${{ secrets.token }}", "two words"]
env: { SPARE: plain-value, TOKEN: "${{ secrets.token }}" }
inheritEnv: [NOTES_HOST]
cwd: data
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "set.yaml").write_text(SET)
    (tmp_path / "data").mkdir()
    return tmp_path


def test_each_program_and_address_is_told_in_order_and_nothing_is_started(folder: Path) -> None:
    environment = {
        "NOTES_HOST": "notes.example",
        "OPENAI_BASE_URL": "https://me:pass-9@api.example/v1",
        "TOKEN": "t-77",
    }

    ended = run(folder, "plan", "set.yaml", **environment)

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "1. App: Runtime.Application",
        "   starts    touch read-a-secret",
        "2. Gpt: AiOpenai.OpenaiModel",
        "   connects  https://***@api.example/v1/chat/completions, with the headers authorization, x-team",
        "3. Notes: Mcp.HttpClient",
        "   connects  https://notes.example/mcp?key=***, with the headers Authorization, X-Key",
        "4. Local: Mcp.StdioClient",
        "   starts    touch started '--token=***' 'two words'",
        "   in        data",
        "   with      SPARE, TOKEN",
        "   inherits  HOME, LANG, NOTES_HOST, PATH, TMPDIR",
        "5. NoteTools: AiMcp.ToolService, after Notes, Local",
        "6. Helper: Ai.Agent, after Gpt",
        "7. Ai.Tools in Clerk: Ai.Tools, after Helper",
        "8. Clerk: Ai.Agent, after Gpt, NoteTools, Ai.Tools in Clerk",
        '   tools of  NoteTools: prefix "n_"; include get_*, put; exclude get_all',
        "   tools of  Ai.Tools in Clerk",
        '   not known without a lock ("runtime lock" makes one): the tools of NoteTools',
        "   besides   1 tool",
        "     help",
        "runs Clerk",
        "there is no lock",
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["data", "set.yaml"]
    assert list((folder / "data").iterdir()) == []


def test_no_value_of_a_variable_or_secret_is_in_the_json(folder: Path) -> None:
    ended = run(folder, "plan", "set.yaml", "--output", "json", NOTES_HOST="notes.example", TOKEN="t-77")

    assert ended.code == 0
    assert [text for text in ("plain-value", "t-77", "blue") if text in ended.out] == []
    plan = json.loads(ended.out)
    assert [each["name"] for each in plan["resources"]][:3] == ["App", "Gpt", "Notes"]
    assert plan["resources"][3]["starts"] == [
        {
            "command": "touch",
            "args": ["started", "--token=***", "two words"],
            "folder": "data",
            "env": ["SPARE", "TOKEN"],
            "inherits": ["HOME", "LANG", "NOTES_HOST", "PATH", "TMPDIR"],
        }
    ]
    assert (plan["targets"], plan["lock"]) == (["Clerk"], None)


def test_a_variable_without_a_value_is_told_and_the_plan_is_shown_all_the_same(folder: Path) -> None:
    ended = run(folder, "plan", "set.yaml")

    assert ended.code == 1
    assert "   connects  https://${{ variables.host }}/mcp?key=${{ secrets.token }}, with" in ended.out
    assert ended.err.startswith('set.yaml:37:19: error VALUE_MISSING "variables.host" has no value')


def test_an_agent_may_be_named_and_only_what_it_needs_is_planned(folder: Path) -> None:
    ended = run(folder, "plan", "set.yaml", "--agent", "Helper", "--output", "json")

    plan = json.loads(ended.out)
    assert ([each["name"] for each in plan["resources"]], plan["targets"]) == (["App", "Gpt", "Helper"], ["Helper"])


def test_with_a_lock_the_exact_tools_are_told_under_the_names_that_the_model_sees(tmp_path: Path) -> None:
    ended = run(tmp_path, "plan", "set.yaml", "--detailed-exitcode", "--output", "json", cwd=CASES / "well")

    plan = json.loads(ended.out)
    offer = plan["resources"][-1]["offers"]
    assert [use["provider"] for use in offer["providers"]] == ["Both", "Neither", "Perhaps", "FileTools"]
    assert offer["tools"] == [
        {"name": "Notes__note", "tool": "Notes__note", "provider": "Both"},
        {"name": "read_file", "tool": "read_file", "provider": "FileTools"},
    ]
    assert (offer["toolFormat"], offer["unknown"], offer["tokens"]) == ("openai", ["Perhaps"], None)
    assert plan["lock"] == {"path": "runtime.lock", "missing": [], "stale": [], "superfluous": [], "fits": True}
    assert ended.code == 1  # `wanted` has no value


def test_tokens_are_a_quarter_of_the_characters_of_the_list_that_the_model_gets(tmp_path: Path) -> None:
    folder = CASES / "warn-tool-schema-lossy"
    listed = json.loads((folder / "tools.json").read_text())["Search"]
    tools = [Tool(f"s_{each['name']}", each["description"], each["inputSchema"]) for each in listed]
    sent = convert(sorted(tools, key=lambda tool: tool.name), "openai").encoded.decode()

    ended = run(tmp_path, "plan", "set.yaml", "--agent", "Whole", cwd=folder)

    assert f"   offers    2 tools, about {-(-len(sent) // 4)} tokens in each request" in ended.out.splitlines()


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ("stale-is-silent", 2),
        ("locked-lock-missing", 2),
        ("locked-lock-missing-altogether", 2),
        ("warn-tool-schema-lossy", 0),
    ],
)
def test_the_detailed_exit_code_tells_whether_the_lock_fits(case: str, code: int, tmp_path: Path) -> None:
    assert run(tmp_path, "plan", "set.yaml", "--detailed-exitcode", cwd=CASES / case).code == code
    assert run(tmp_path, "plan", "set.yaml", cwd=CASES / case).code == 0


def test_what_does_not_fit_the_lock_is_told(tmp_path: Path) -> None:
    words = ("--lock", str(CASES / "locked-lock-stale" / "runtime.lock"))

    ended = run(tmp_path, "plan", "set.yaml", *words, cwd=CASES / "locked-lock-missing")

    assert ended.out.splitlines()[-3:] == [
        f"the lock {words[1]} differs",
        "   Assistant.toolProviders[2].provider.client is not in the lock",
        "   Files has changed since it was locked",
    ]


def test_a_set_with_errors_has_no_plan(tmp_path: Path) -> None:
    ended = run(tmp_path, "plan", "set.yaml", "--detailed-exitcode", cwd=CASES / "tool-collision")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err.count(" TOOL_COLLISION ") == 4
