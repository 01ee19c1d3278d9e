"""The schema that editors get: takes what is right, refuses what a person mistypes, describes what it takes."""

from typing import Any

import pytest
from jsonschema import Draft7Validator

from runtime.editor_schema import make_schema
from runtime.registry import Registry

AGENT = {"kind": "Ai.Agent", "metadata": {"name": "A"}, "model": "Model"}


@pytest.fixture(scope="module")
def editor() -> Draft7Validator:
    schema = make_schema(Registry())
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"maxSteps": 3},
        {"maxSteps": "${{ variables.steps }}"},
        {"model": {"kind": "Ai.ScriptedModel", "turns": [{"text": "hi"}]}},
        {"toolProviders": [{"provider": "Tools", "include": ["read_*"]}]},
    ],
)
def test_takes_what_is_right(editor: Draft7Validator, fields: dict[str, Any]) -> None:
    assert list(editor.iter_errors({**AGENT, **fields})) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"maxSteps": "many"},
        {"maxSteps": 0},
        {"maxStep": 3},
        {"model": 7},
        {"model": {"kind": "Mcp.StdioClient", "command": "x"}},
        {"model": {"model": "gpt"}},
        {"metadata": {}},
        {"onMaxSteps": "stop"},
        {"toolProviders": [{"prefix": "a_"}]},
    ],
)
def test_refuses_what_is_wrong(editor: Draft7Validator, fields: dict[str, Any]) -> None:
    assert list(editor.iter_errors({**AGENT, **fields})) != []


def test_an_empty_document_and_kinds_that_are_imported_are_taken(editor: Draft7Validator) -> None:
    imported = {"kind": "Acme.Model", "metadata": {"name": "A"}, "anything": 1}
    inline = {**AGENT, "model": {"kind": "Acme.Model", "anything": 1}}

    assert [list(editor.iter_errors(document)) for document in (None, imported, inline)] == [[], [], []]
    assert list(editor.iter_errors({**imported, "kind": "Ai.Agnt"})) != []


def test_every_kind_is_offered_with_a_description(editor: Draft7Validator) -> None:
    offered = editor.schema["properties"]["kind"]["anyOf"][0]
    assert {"Ai.Agent", "Mcp.StdioClient", "AiMcp.ToolProvider", "Telo.Application"} <= set(offered["enum"])
    assert len(offered["enum"]) == len(offered["enumDescriptions"])
    assert all(offered["enumDescriptions"])
