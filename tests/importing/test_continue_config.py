"""`config.yaml` of Continue: one agent with the first model for chat, all rules and all servers."""

import json
from typing import Any

import pytest
from imported import imported, notes, resources

CLAUDE = {"name": "Claude", "provider": "anthropic", "model": "claude-sonnet-4-0"}


def config(**more: Any) -> str:
    return json.dumps({"name": "Mine", "version": "1.0.0", "schema": "v1", "models": [CLAUDE], **more})


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ({}, {"apiKey": "${{ secrets.anthropicApiKey }}"}),
        ({"apiKey": "${{ secrets.MY_KEY }}"}, {"apiKey": "${{ secrets.myKey }}"}),
        ({"apiKey": "${{ secrets.org/block/MY_KEY }}"}, {"apiKey": "${{ secrets.myKey }}"}),
        ({"apiKey": "abc"}, {"apiKey": "${{ secrets.anthropicApiKey }}"}),
        (
            {"apiBase": "https://api.anthropic.com/v1/"},
            {"apiKey": "${{ secrets.anthropicApiKey }}", "baseUrl": "https://api.anthropic.com"},
        ),
        (
            {"defaultCompletionOptions": {"maxTokens": 9, "stop": ["x"], "contextLength": 5}},
            {"apiKey": "${{ secrets.anthropicApiKey }}", "options": {"maxTokens": 9, "stopSequences": ["x"]}},
        ),
        (
            {"requestOptions": {"headers": {"X-Team": "core"}}},
            {"apiKey": "${{ secrets.anthropicApiKey }}", "headers": {"X-Team": "core"}},
        ),
    ],
)
def test_a_model_has_its_key_its_address_and_its_options(model: dict[str, Any], expected: dict[str, Any]) -> None:
    made, _ = imported(config(models=[{**CLAUDE, **model}]))

    kind = {"kind": "AiAnthropic.AnthropicModel", "model": "claude-sonnet-4-0"}
    assert resources(made)["Claude"] == {**kind, **expected}
    assert "abc" not in made


def test_an_address_of_ollama_gets_its_version() -> None:
    local = {"name": "Local", "provider": "ollama", "model": "qwen3", "apiBase": "http://127.0.0.1:11434"}

    made, _ = imported(config(models=[local]))

    assert resources(made)["Local"]["baseUrl"] == "http://127.0.0.1:11434/v1"


def test_the_first_model_for_chat_is_used_and_the_others_stand_by() -> None:
    other = {"name": "Other", "provider": "openai", "model": "gpt-4o", "apiKey": "${{ secrets.OTHER }}"}
    completer = {**CLAUDE, "name": "Completer", "roles": ["autocomplete"]}

    made, draft = imported(config(models=[completer, {**CLAUDE, "roles": ["chat"]}, other, {"uses": "a/b"}]))

    assert resources(made)["Assistant"]["model"] == "!ref Claude"
    assert "# kind: AiOpenai.OpenaiModel\n# metadata: { name: Other }\n" in made
    assert draft.values.needed() == ["ANTHROPIC_API_KEY"]
    assert notes(draft) == [
        'line 1: "a/b" of "models" was left out: it is a block of a hub; write here what it holds',
        'line 1: the model "Completer" was left out: its roles are autocomplete, not chat',
    ]


def test_rules_become_the_system_text_and_prompts_tasks() -> None:
    rules = ["Be brief.", {"name": "All", "rule": "Be kind."}, {"name": "Py", "rule": "Type.", "globs": "*.py"}]
    prompts = [{"name": "review", "description": "Look.", "prompt": "Review."}]
    chat = {"chatOptions": {"baseAgentSystemMessage": "You help."}}

    made, draft = imported(config(models=[{**CLAUDE, **chat}], rules=rules, prompts=prompts))

    found = resources(made)
    assert found["Assistant"]["system"] == "You help.\n\nBe brief.\n\nBe kind.\n"
    assert found["Review"] == {"kind": "Ai.Task", "agent": "!ref Assistant", "prompt": "Review."}
    assert notes(draft) == ['line 1: the rule "Py" was left out: it is for some files alone']


def test_servers_become_clients() -> None:
    servers = [
        {
            "name": "Local",
            "command": "uvx",
            "args": ["x"],
            "env": {"A": "${{ secrets.KEY }}", "B": "${{ inputs.WHERE }}"},
        },
        {
            "name": "Far",
            "type": "streamable-http",
            "url": "https://e.com/mcp",
            "requestOptions": {"headers": {"Authorization": "Bearer ${{ secrets.FAR }}"}, "timeout": 5},
            "connectionTimeout": 5000,
        },
    ]

    made, draft = imported(config(mcpServers=servers, context=[{"provider": "diff"}]))

    found = resources(made)
    assert found["Local"] == {
        "kind": "Mcp.StdioClient",
        "command": "uvx",
        "args": ["x"],
        "env": {"A": "${{ secrets.key }}", "B": "${{ variables.where }}"},
    }
    assert found["Far"] == {
        "kind": "Mcp.HttpClient",
        "url": "https://e.com/mcp",
        "connectTimeoutMs": 5000,
        "headers": {"Authorization": "Bearer ${{ secrets.far }}"},
    }
    assert [entry["prefix"] for entry in found["Assistant"]["toolProviders"]] == ["local_", "far_"]
    assert notes(draft) == [
        'line 1: "timeout" of "Far" was left out: it has no field of its own here',
        'line 1: "context" was left out: it is about the editor, not about an agent',
    ]
