"""Lists of MCP servers, as other programs keep them, become manifests; no credential comes along."""

import json
from typing import Any

import pytest
from imported import imported, resources

from runtime.errors import UsageError
from runtime.importing import convert
from runtime.manifest import Source

TOKEN = "ghp_" + "a1B2" * 9


def servers(**entries: Any) -> str:
    return json.dumps({"mcpServers": entries})


def test_a_file_becomes_a_manifest_with_notes_of_what_did_not_map() -> None:
    text = """{
  // for the editor
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data",], },
    "issue-tracker": {
      "url": "https://issues.example.com/mcp",
      "headers": { "Authorization": "Bearer abcdef", "X-Team": "core" },
      "timeout": 60
    },
    "old": { "command": "./old", "disabled": true }
  },
  "theme": "dark"
}
"""

    made, draft = imported(text)

    assert (
        made
        == """\
# Imported from mcp.json by "runtime import".
# line 12: "theme" was left out: it is not about MCP servers

kind: Mcp.StdioClient
metadata: { name: Files }
command: npx
args: ["-y", "@modelcontextprotocol/server-filesystem", "/data"]
---
kind: AiMcp.ToolProvider
metadata: { name: FilesTools }
client: !ref Files
---
# line 7: the value of ISSUE_TRACKER_TOKEN was left out: set ISSUE_TRACKER_TOKEN in the environment or in ".env"
# line 8: "timeout" of "issue-tracker" was left out: programs mean seconds or milliseconds by it; `callTimeoutMs` is \
the most that a call may take
kind: Mcp.HttpClient
metadata: { name: IssueTracker }
url: "https://issues.example.com/mcp"
headers:
  Authorization: "Bearer ${{ secrets.issueTrackerToken }}"
  X-Team: core
---
kind: AiMcp.ToolProvider
metadata: { name: IssueTrackerTools }
client: !ref IssueTracker
---
# line 10: "old" is switched off there
# kind: Mcp.StdioClient
# metadata: { name: Old }
# command: "./old"
---
# kind: AiMcp.ToolProvider
# metadata: { name: OldTools }
# client: !ref Old
---
# Stands in for a model: it needs no key, picks a tool by the words of the prompt, and understands nothing.
# A real one: kind: AiOpenai.OpenaiModel, model: ..., apiKey: an expression such as secrets.openaiApiKey
kind: Ai.ScriptedModel
metadata: { name: Model }
---
kind: Ai.Agent
metadata: { name: Assistant }
model: !ref Model
toolProviders:
  - provider: !ref FilesTools
    prefix: files_
  - provider: !ref IssueTrackerTools
    prefix: issue_tracker_
"""
    )
    assert [note.line for note in draft.notes] == [7, 8, 10, 12]
    assert draft.values.needed() == ["ISSUE_TRACKER_TOKEN"]


@pytest.mark.parametrize(
    ("entry", "field", "expected"),
    [
        ({"env": {"API_KEY": "abc"}}, "env", {"API_KEY": "${{ secrets.apiKey }}"}),
        ({"env": {"ANYTHING": TOKEN}}, "env", {"ANYTHING": "${{ secrets.aServerToken }}"}),
        (
            {"env": {"DB": "postgres://me:pass1@db/x"}},
            "env",
            {"DB": "postgres://me:${{ secrets.aServerPassword }}@db/x"},
        ),
        ({"env": {"api_key": "abc"}}, "env", {"api_key": "${{ secrets.apiKey }}"}),
        ({"env": {"KEY_FILE": "/etc/key"}}, "env", {"KEY_FILE": "/etc/key"}),
        ({"env": {"MAX_TOKENS": 100, "DEBUG": True}}, "env", {"MAX_TOKENS": "100", "DEBUG": "true"}),
        ({"env": {"API_KEY": ""}}, "env", {"API_KEY": ""}),
        ({"env": {"X": "${API_KEY}"}}, "env", {"X": "${{ secrets.apiKey }}"}),
        ({"env": {"X": "${env:API_KEY}"}}, "env", {"X": "${{ secrets.apiKey }}"}),
        ({"env": {"X": "${REGION:-eu}/a"}}, "env", {"X": "${{ variables.region }}/a"}),
        ({"env": {"X": "${IN}"}}, "env", {"X": "${{ secrets.inValue }}"}),
        ({"env": {"X": "a ${{ b"}}, "env", {"X": 'a ${{ "${{" }} b'}),
        ({"args": ["--token", "abc", "--v"]}, "args", ["--token", "${{ secrets.aServerToken }}", "--v"]),
        ({"args": ["--api-key=abc"]}, "args", ["--api-key=${{ secrets.aServerApiKey }}"]),
        ({"args": ["-k", TOKEN]}, "args", ["-k", "${{ secrets.aServerToken }}"]),
        ({"args": ["--token", "--other"]}, "args", ["--token", "--other"]),
        (
            {"args": ["--header", "Authorization: Bearer abc"]},
            "args",
            ["--header", "Authorization: Bearer ${{ secrets.aServerToken }}"],
        ),
        ({"args": ["${HOME}/x", "${userHome}"]}, "args", ["${{ variables.home }}/x", "${{ variables.home }}"]),
        ({"args": ["${workspaceFolder}/x"]}, "args", ["${{ variables.workspaceFolder }}/x"]),
        ({"args": ["$HOME", "${}", "${a b}"]}, "args", ["$HOME", "${}", "${a b}"]),
        ({"args": ["\U0001f600"]}, "args", ["\U0001f600"]),
        ({"cwd": "/srv"}, "cwd", "/srv"),
    ],
)
def test_what_a_server_is_started_with_is_translated(entry: dict[str, Any], field: str, expected: Any) -> None:
    made, _ = imported(servers(**{"a-server": {"command": "x", **entry}}))

    assert resources(made)["AServer"][field] == expected
    assert not any(secret in made for secret in (TOKEN, "pass1", "abc"))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"url": "https://e.com/mcp"}, {"url": "https://e.com/mcp"}),
        ({"type": "sse", "url": "https://e.com/x"}, {"url": "https://e.com/x", "transport": "sse"}),
        ({"url": "https://e.com/sse/"}, {"url": "https://e.com/sse/", "transport": "sse"}),
        ({"type": "http", "url": "https://e.com/sse"}, {"url": "https://e.com/sse"}),
        ({"serverUrl": "https://e.com/mcp"}, {"url": "https://e.com/mcp"}),
        ({"httpUrl": "http://127.0.0.1:1/mcp"}, {"url": "http://127.0.0.1:1/mcp"}),
        ({"url": "https://e.com/?api_key=abc&a=1"}, {"url": "https://e.com/?api_key=${{ secrets.aServerApiKey }}&a=1"}),
        ({"url": "https://u:abc@e.com/"}, {"url": "https://u:${{ secrets.aServerPassword }}@e.com/"}),
        (
            {"url": "${BASE_URL:-https://e.com}/mcp", "headers": {"X-API-Key": "abc"}},
            {"url": "${{ variables.baseUrl }}/mcp", "headers": {"X-API-Key": "${{ secrets.aServerApiKey }}"}},
        ),
        (
            {"url": "https://e.com", "headers": {"Authorization": "Bearer ${TOKEN}"}},
            {"url": "https://e.com", "headers": {"Authorization": "Bearer ${{ secrets.token }}"}},
        ),
        (
            {"url": "https://e.com", "headers": {"Authorization": "abc", "Cookie": "a=abc"}},
            {
                "url": "https://e.com",
                "headers": {
                    "Authorization": "${{ secrets.aServerToken }}",
                    "Cookie": "${{ secrets.aServerCookie }}",
                },
            },
        ),
    ],
)
def test_how_a_server_is_reached_is_translated(entry: dict[str, Any], expected: dict[str, Any]) -> None:
    made, _ = imported(servers(**{"a-server": entry}))

    client = resources(made)["AServer"]
    assert {key: value for key, value in client.items() if key not in ("kind", "metadata")} == expected
    assert "abc" not in made


def test_two_values_under_one_name_are_two_secrets_and_one_value_is_one() -> None:
    made, draft = imported(
        servers(
            a={"command": "x", "env": {"API_KEY": "one"}},
            b={"command": "x", "env": {"API_KEY": "two"}},
            c={"command": "x", "env": {"API_KEY": "one"}},
            d={"command": "x", "env": {"API_KEY": "${API_KEY}"}},
        )
    )

    found = {name: body["env"]["API_KEY"] for name, body in resources(made).items() if "env" in body}
    assert found == {
        "A": "${{ secrets.apiKey }}",
        "B": "${{ secrets.bApiKey }}",
        "C": "${{ secrets.apiKey }}",
        "D": "${{ secrets.apiKey }}",
    }
    assert draft.values.needed() == ["API_KEY", "B_API_KEY"]


def test_inputs_of_an_editor_are_declared() -> None:
    text = json.dumps(
        {
            "inputs": [
                {"type": "promptString", "id": "gh", "description": "GitHub token", "password": True},
                {"type": "pickString", "id": "zone", "options": ["eu", "us"], "default": "eu"},
                {"type": "promptString", "id": "team"},
            ],
            "servers": {
                "github": {
                    "type": "stdio",
                    "command": "docker",
                    "env": {"GITHUB_TOKEN": "${input:gh}", "ZONE": "${input:zone}", "TEAM": "${input:team}"},
                }
            },
        }
    )

    made, draft = imported(text)

    found = resources(made)
    assert found["Application"] == {
        "kind": "Runtime.Application",
        "variables": {"zone": {"default": "eu", "enum": ["eu", "us"]}, "team": {}},
        "secrets": {"gh": {"description": "GitHub token"}},
    }
    assert found["Github"]["env"] == {
        "GITHUB_TOKEN": "${{ secrets.gh }}",
        "ZONE": "${{ variables.zone }}",
        "TEAM": "${{ variables.team }}",
    }
    assert draft.values.needed() == ["TEAM", "GH"]


def test_servers_in_the_settings_of_an_editor_are_found() -> None:
    made, draft = imported('{"editor.tabSize": 2, "mcp": {"servers": {"a": {"command": "x"}}}}')

    assert resources(made)["A"]["command"] == "x"
    assert [str(note) for note in draft.notes] == ['line 1: "editor.tabSize" was left out: it is not about MCP servers']


def test_lists_of_tools_become_filters_of_the_agent() -> None:
    made, _ = imported(
        servers(
            a={"command": "x", "includeTools": ["read"], "excludeTools": ["write"]},
            b={"command": "x", "tools": ["*"]},
        )
    )

    [a, b] = resources(made)["Assistant"]["toolProviders"]
    assert (a["include"], a["exclude"], a["prefix"]) == (["read"], ["write"], "a_")
    assert (set(b), b["prefix"]) == ({"provider", "prefix"}, "b_")


def test_names_become_names_of_resources_each_its_own() -> None:
    made, _ = imported(servers(**{name: {"command": "x"} for name in ("a b", "a-b", "9", "日本", "assistant")}))

    clients = [name for name, body in resources(made).items() if body["kind"] == "Mcp.StdioClient"]
    assert clients == ["AB", "AB2", "_9", "Server", "Assistant"]
    assert resources(made)["Assistant2"]["kind"] == "Ai.Agent"


def test_nothing_of_a_file_can_break_out_of_a_comment() -> None:
    name = "a\nkind: Evil.Kind\u2028b"

    made, draft = imported(servers(**{name: {"command": "x", name: 1, "description": f"d\r{name}", "disabled": True}}))

    assert "\nkind: Evil" not in made
    assert resources(made) == {}
    assert all(str(note).isprintable() for note in draft.notes)


def test_a_credential_in_a_note_or_a_comment_is_starred() -> None:
    made, draft = imported(servers(a={"command": "x", "description": f"uses {TOKEN}", TOKEN: 1}))

    assert TOKEN not in made
    assert TOKEN not in str(draft.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", '"mcp.json" has to hold one mapping'),
        ("", '"mcp.json" has to hold one mapping'),
        ('{"a": 1}', '"mcp.json" is of no format that is known here'),
        ('{"mcpServers": {}}', '"mcp.json" holds nothing that a manifest could declare'),
        ('{"mcpServers": {"a": 1}}', '"mcp.json" holds nothing that a manifest could declare'),
        ('{"mcpServers": {"a": {"url": "ws://e.com"}}}', '"mcp.json" holds nothing that a manifest could declare'),
    ],
)
def test_a_file_that_holds_no_server_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        convert(Source("mcp.json", text.encode(), "."))

    assert refused.value.message == message


def test_a_file_that_cannot_be_read_is_refused_with_the_place() -> None:
    with pytest.raises(UsageError, match=r'cannot read "mcp\.json": line 3, column 1: '):
        convert(Source("mcp.json", b'{\n  "mcpServers": {\n', "."))
