"""Agent files of docker-agent: agents, models, MCP toolsets and sub-agents; a note for everything else."""

import json
from typing import Any

import pytest
from imported import imported, notes, resources

from runtime.importing import convert
from runtime.manifest import Source

AGENT = {"model": "openai/gpt-4o-mini", "instruction": "You help."}


def agents(**found: dict[str, Any]) -> str:
    """A file of agents; what an agent says goes before what all of them say."""
    return json.dumps({"agents": {name: {**AGENT, **each} for name, each in found.items()}})


def agent_file(**more: Any) -> str:
    return json.dumps({"agents": {"root": AGENT}, **more})


def test_an_agent_has_its_model_its_instruction_and_its_limits() -> None:
    made, draft = imported(
        agents(
            root={
                "instruction": "Be kind.\nBe quick.\n",
                "description": "Helps.",
                "max_iterations": 5,
                "num_history_items": 30,
                "structured_output": {"name": "out", "schema": {"type": "object"}},
            }
        )
    )

    assert resources(made) == {
        "Gpt4oMini": {"kind": "AiOpenai.OpenaiModel", "model": "gpt-4o-mini", "apiKey": "${{ secrets.openaiApiKey }}"},
        "Root": {
            "kind": "Ai.Agent",
            "model": "!ref Gpt4oMini",
            "system": "Be kind.\nBe quick.\n",
            "maxSteps": 5,
            "history": {"maxMessages": 30},
            "output": {"schema": {"type": "object"}},
        },
    }
    assert "\n# Helps.\nkind: Ai.Agent\n" in made
    assert notes(draft) == []


@pytest.mark.parametrize(
    ("toolset", "expected", "entry"),
    [
        (
            {"command": "npx", "args": ["-y", "@scope/server-files@1.2"], "tools": ["read"], "name": "fs"},
            {"kind": "Mcp.StdioClient", "command": "npx", "args": ["-y", "@scope/server-files@1.2"]},
            {"provider": "!ref FsTools", "prefix": "fs_", "include": ["read"]},
        ),
        (
            {"command": "npx", "args": ["-y", "@scope/server-files@1.2"]},
            {"kind": "Mcp.StdioClient", "command": "npx", "args": ["-y", "@scope/server-files@1.2"]},
            {"provider": "!ref ServerFilesTools"},
        ),
        (
            {"remote": {"url": "https://mcp.acme.com/x", "headers": {"Authorization": "Bearer ${env.ACME}"}}},
            {
                "kind": "Mcp.HttpClient",
                "url": "https://mcp.acme.com/x",
                "headers": {"Authorization": "Bearer ${{ secrets.acme }}"},
            },
            {"provider": "!ref AcmeTools"},
        ),
        (
            {"remote": {"url": "https://mcp.acme.com/x", "transport_type": "sse"}},
            {"kind": "Mcp.HttpClient", "url": "https://mcp.acme.com/x", "transport": "sse"},
            {"provider": "!ref AcmeTools"},
        ),
        (
            {"ref": "docker:duck", "tools": ["search"]},
            {"kind": "Mcp.StdioClient", "command": "docker", "args": ["mcp", "gateway", "run", "--servers=duck"]},
            {"provider": "!ref DuckTools", "include": ["search"]},
        ),
        (
            {
                "command": "./x",
                "lifecycle": {
                    "startup_timeout": "1.5s",
                    "call_timeout": "2m",
                    "required": False,
                    "restart": "on_failure",
                },
            },
            {
                "kind": "Mcp.StdioClient",
                "command": "./x",
                "connectTimeoutMs": 1500,
                "callTimeoutMs": 120000,
                "required": False,
                "restart": "on-failure",
            },
            {"provider": "!ref XTools"},
        ),
    ],
)
def test_an_mcp_toolset_becomes_a_client(
    toolset: dict[str, Any], expected: dict[str, Any], entry: dict[str, Any]
) -> None:
    made, _ = imported(agents(root={"toolsets": [{"type": "mcp", **toolset}]}))

    found = resources(made)
    [client] = [each for each in found.values() if each["kind"].startswith("Mcp.")]
    assert (client, found["Root"]["toolProviders"]) == (expected, [entry])


def test_a_toolset_that_agents_share_is_one_client() -> None:
    shared = {"files": {"command": "./files", "env": {"A": "b"}}, "idle": {"command": "./idle"}}
    toolsets = [{"type": "mcp", "ref": "files", "tools": ["read"]}]
    text = json.dumps(
        {"agents": {"a": {**AGENT, "toolsets": toolsets}, "b": {**AGENT, "toolsets": toolsets}}, "mcps": shared}
    )

    made, draft = imported(text)

    found = resources(made)
    assert [name for name, each in found.items() if each["kind"] == "Mcp.StdioClient"] == ["Files"]
    assert found["A"]["toolProviders"] == [{"provider": "!ref FilesTools", "include": ["read"]}]
    assert found["A"]["toolProviders"] == found["B"]["toolProviders"]
    assert notes(draft) == ['line 1: "idle" of "mcps" was left out: no agent uses it']


def test_toolsets_that_are_not_of_mcp_are_noted_and_instructions_of_toolsets_added() -> None:
    toolsets = [
        {"type": "filesystem"},
        {"type": "shell"},
        {"type": "mcp", "command": "./x", "instruction": "Search first."},
    ]

    made, draft = imported(agents(root={"toolsets": toolsets}))

    assert resources(made)["Root"]["system"] == "You help.\n\nSearch first.\n"
    assert [note.partition(" was ")[0] for note in notes(draft)] == [
        'line 1: the toolset "filesystem" of "root"',
        'line 1: the toolset "shell" of "root"',
    ]


def test_sub_agents_become_tools_and_a_circle_is_broken() -> None:
    made, draft = imported(
        agents(
            root={"sub_agents": ["writer", "elsewhere/agent"]},
            writer={"description": "Writes.", "sub_agents": ["root", "writer"]},
        )
    )

    found = resources(made)
    [tool] = found["RootTeam"]["tools"]
    assert (tool["tool"], tool["description"], tool["parameters"]["required"]) == ("!ref Writer", "Writes.", ["prompt"])
    assert found["Root"]["toolProviders"] == [{"provider": "!ref RootTeam"}]
    assert "toolProviders" not in found["Writer"]
    assert notes(draft) == [
        'line 1: the sub-agent "elsewhere/agent" was left out: it is in no file that was read',
        'line 1: the sub-agent "root" was left out: it has this one as a sub-agent itself',
        'line 1: the sub-agent "writer" was left out: it has this one as a sub-agent itself',
    ]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            {"provider": "anthropic", "model": "c", "max_tokens": 100, "temperature": 0.5},
            {
                "kind": "AiAnthropic.AnthropicModel",
                "apiKey": "${{ secrets.anthropicApiKey }}",
                "apiVersion": "2023-06-01",
                "options": {"temperature": 0.5, "maxTokens": 100},
            },
        ),
        (
            {"provider": "anthropic", "model": "c", "max_tokens": 100},
            {
                "kind": "AiAnthropic.AnthropicModel",
                "apiKey": "${{ secrets.anthropicApiKey }}",
                "options": {"maxTokens": 100},
            },
        ),
        (
            {"provider": "google", "model": "c", "max_tokens": 100, "top_p": 0.5},
            {
                "kind": "AiGoogle.GeminiModel",
                "apiKey": "${{ secrets.googleApiKey }}",
                "options": {"maxOutputTokens": 100, "topP": 0.5},
            },
        ),
        (
            {"provider": "ollama", "model": "c"},
            {"kind": "AiOpenai.OpenaiModel", "apiKey": "none", "baseUrl": "http://localhost:11434/v1"},
        ),
        (
            {"provider": "house", "model": "c"},
            {
                "kind": "AiOpenai.OpenaiModel",
                "apiKey": "${{ secrets.houseToken }}",
                "baseUrl": "https://llm.example.com/v1",
                "api": "responses",
            },
        ),
    ],
)
def test_a_model_is_of_the_kind_of_its_provider(model: dict[str, Any], expected: dict[str, Any]) -> None:
    house = {"base_url": "https://llm.example.com/v1/", "token_key": "HOUSE_TOKEN", "api_type": "openai_responses"}
    text = json.dumps(
        {"agents": {"root": {**AGENT, "model": "mine"}}, "models": {"mine": model}, "providers": {"house": house}}
    )

    made, _ = imported(text)

    assert resources(made)["Mine"] == {"model": "c", **expected}


def test_models_to_fall_back_on_become_one_model() -> None:
    made, draft = imported(agents(root={"model": "openai/a,openai/b", "fallback": {"models": ["anthropic/c"]}}))

    found = resources(made)
    assert found["RootModels"] == {"kind": "Ai.FallbackModel", "models": ["!ref A", "!ref C"]}
    assert found["Root"]["model"] == "!ref RootModels"
    assert notes(draft) == [
        "line 1: the alternation with openai/b was left out: an agent has one model; Ai.FallbackModel takes several"
    ]


@pytest.mark.parametrize("model", ["auto", "", "nobody/model"])
def test_an_agent_without_a_known_model_gets_a_stand_in(model: str) -> None:
    made, draft = imported(agents(root={"model": model}))

    assert resources(made)["Model"] == {"kind": "Ai.ScriptedModel"}
    assert len(notes(draft)) == 1


def test_commands_become_tasks() -> None:
    made, _ = imported(agents(root={"commands": {"daily": "Look around.", "long": {"instruction": "Look well."}}}))

    found = resources(made)
    assert found["RootDaily"] == {"kind": "Ai.Task", "agent": "!ref Root", "prompt": "Look around."}
    assert found["RootLong"]["prompt"] == "Look well."


def test_only_tools_that_an_agent_has_are_asked_for() -> None:
    toolsets = [{"type": "mcp", "command": "./x", "name": "fs"}]
    text = json.dumps(
        {
            "agents": {"a": {**AGENT, "toolsets": toolsets}, "b": AGENT},
            "permissions": {"ask": ["fs_write", "other", "shell:cmd=rm*"], "deny": ["fs_delete"]},
        }
    )

    made, draft = imported(text)

    found = resources(made)
    assert found["A"]["requireApproval"] == ["fs_write"]
    assert "requireApproval" not in found["B"]
    assert [note.partition(" was ")[0] for note in notes(draft)] == [
        'line 1: "other" of the permissions (ask)',
        'line 1: "shell:cmd=rm*" of the permissions (ask)',
        'line 1: "fs_delete" of the permissions (deny)',
    ]


def test_an_instruction_in_a_file_is_included_and_what_is_unknown_noted() -> None:
    text = json.dumps(
        {"agents": {"root": {"model": "openai/a", "instruction_file": "how.md", "add_date": True}}, "flavors": {}}
    )

    made, draft = convert(Source("team.yaml", text.encode(), "."))

    assert "system: !include-text how.md\n" in made
    assert notes(draft) == [
        'line 1: "add_date" of "root" was left out: an MCP server such as mcp-server-time tells the time',
        'line 1: "flavors" was left out: a manifest is what it is; `variables` differ from run to run',
    ]
