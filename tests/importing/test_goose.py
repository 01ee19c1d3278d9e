"""Recipes of goose: an agent with its extensions, a task, and variables for the parameters."""

import json
from typing import Any

import pytest
from imported import imported, notes, resources

RECIPE = {"version": "1.0.0", "title": "Notes", "description": "Writes notes.", "instructions": "You write."}


def recipe(**more: Any) -> str:
    return json.dumps({**RECIPE, **more})


def test_a_recipe_becomes_an_agent_and_what_it_is_asked_a_task() -> None:
    made, draft = imported(
        recipe(
            prompt="Write.",
            settings={"goose_provider": "openai", "goose_model": "gpt-4o", "temperature": 0.2, "max_turns": 9},
            response={"json_schema": {"type": "object"}},
        )
    )

    assert resources(made) == {
        "Application": {"kind": "Runtime.Application", "targets": ["!ref NotesTask"]},
        "Model": {
            "kind": "AiOpenai.OpenaiModel",
            "model": "gpt-4o",
            "apiKey": "${{ secrets.openaiApiKey }}",
            "options": {"temperature": 0.2},
        },
        "Notes": {
            "kind": "Ai.Agent",
            "model": "!ref Model",
            "system": "You write.",
            "maxSteps": 9,
            "output": {"schema": {"type": "object"}},
        },
        "NotesTask": {"kind": "Ai.Task", "agent": "!ref Notes", "prompt": "Write."},
    }
    assert notes(draft) == []


def test_parameters_become_variables_where_texts_name_them() -> None:
    parameters = [
        {"key": "tag", "input_type": "string", "requirement": "required", "description": "Which."},
        {"key": "max_lines", "input_type": "number", "requirement": "optional", "default": "20"},
        {"key": "draft", "input_type": "boolean", "requirement": "optional", "default": "true"},
        {
            "key": "tone",
            "input_type": "select",
            "requirement": "optional",
            "default": "dry",
            "options": ["dry", "warm"],
        },
        {"key": "idle", "input_type": "string", "requirement": "required"},
    ]

    made, draft = imported(
        recipe(
            instructions="Be {{tone}}.",
            prompt="Write {{ tag }}, {{ max_lines }} lines, {{ draft }}. {{ other }} {% if x %}${{ y",
            parameters=parameters,
        )
    )

    found = resources(made)
    assert found["Application"]["variables"] == {
        "tag": {"description": "Which."},
        "maxLines": {"type": "number", "default": 20},
        "draft": {"type": "boolean", "default": True},
        "tone": {"default": "dry", "enum": ["dry", "warm"]},
    }
    assert found["Notes"]["system"] == "Be ${{ variables.tone }}."
    assert found["NotesTask"]["prompt"] == (
        "Write ${{ variables.tag }}, ${{ variables.maxLines }} lines, ${{ variables.draft }}. "
        '{{ other }} {% if x %}${{ "${{" }} y'
    )
    assert notes(draft) == [
        'line 1: the template "{{ other }}" stands as it is',
        'line 1: the template "{% if x %}" stands as it is',
        'line 1: nothing uses the value "idle", so it is not declared',
    ]
    assert draft.values.needed() == ["TAG"]


@pytest.mark.parametrize(
    ("extension", "expected", "entry"),
    [
        (
            {
                "type": "stdio",
                "cmd": "docker",
                "args": ["run"],
                "envs": {"LEVEL": "debug"},
                "env_keys": ["GH_TOKEN"],
                "timeout": 300,
                "bundled": True,
                "available_tools": ["read"],
            },
            {
                "kind": "Mcp.StdioClient",
                "command": "docker",
                "args": ["run"],
                "env": {"GH_TOKEN": "${{ secrets.ghToken }}", "LEVEL": "debug"},
                "callTimeoutMs": 300000,
            },
            {"provider": "!ref GitHubTools", "prefix": "git_hub__", "include": ["read"]},
        ),
        (
            {"type": "streamable_http", "uri": "https://e.com/mcp", "headers": {"Authorization": "Bearer $HUB"}},
            {
                "kind": "Mcp.HttpClient",
                "url": "https://e.com/mcp",
                "headers": {"Authorization": "Bearer ${{ secrets.hub }}"},
            },
            {"provider": "!ref GitHubTools", "prefix": "git_hub__"},
        ),
        (
            {"type": "sse", "uri": "https://e.com/x"},
            {"kind": "Mcp.HttpClient", "url": "https://e.com/x", "transport": "sse"},
            {"provider": "!ref GitHubTools", "prefix": "git_hub__"},
        ),
    ],
)
def test_an_extension_becomes_a_client(
    extension: dict[str, Any], expected: dict[str, Any], entry: dict[str, Any]
) -> None:
    made, _ = imported(recipe(extensions=[{"name": "git-hub", **extension}]))

    found = resources(made)
    assert (found["GitHub"], found["Notes"]["toolProviders"]) == (expected, [entry])
    assert found["Model"] == {"kind": "Ai.ScriptedModel"}


def test_what_has_no_place_is_noted() -> None:
    _, draft = imported(
        recipe(
            extensions=[{"type": "builtin", "name": "developer"}, {"type": "stdio", "name": "empty"}],
            sub_recipes=[{"name": "x", "path": "./x.yaml"}],
            retry={"max_retries": 2},
        )
    )

    assert [note.partition(" was ")[0] for note in notes(draft)] == [
        'line 1: the extension "developer"',
        'line 1: the server "empty"',
        'line 1: "sub_recipes"',
        'line 1: "retry"',
    ]


def test_the_form_of_the_desktop_application_is_read_too() -> None:
    made, _ = imported(json.dumps({"name": "x", "isGlobal": True, "recipe": RECIPE}))

    assert resources(made)["Notes"]["system"] == "You write."
