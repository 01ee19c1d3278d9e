"""What is proposed where, in texts as they are while somebody types."""

import pytest

from runtime.lsp.completion import Proposal, propose
from runtime.lsp.cursor import find_cursor
from runtime.lsp.folder import find_declarations
from runtime.lsp.hover import describe
from runtime.manifest import Source
from runtime.reference import implementers
from runtime.registry import Registry

OTHERS = """\
kind: Runtime.Application
metadata: { name: Shop }
variables: { region: { description: Where it is. } }
secrets: { token: {} }
---
kind: Mcp.StdioClient
metadata: { name: Files }
command: files
---
kind: AiMcp.ToolProvider
metadata: { name: FileTools }
client: !ref Files
---
kind: Ai.ScriptedModel
metadata: { name: Script }
"""


CLIENTS = implementers(Registry(), "Mcp.Client")


def proposals(text: str) -> list[Proposal]:
    """What is proposed at the `|` of a text, in the order in which an editor shows it."""
    index = text.index("|")
    text = text.replace("|", "", 1)
    cursor = find_cursor(text, index)
    sources = [Source("a.yaml", text.encode(), "."), Source("b.yaml", OTHERS.encode(), ".")]
    found = propose(cursor, Registry(), find_declarations(sources)) if cursor is not None else []
    return sorted(found, key=lambda each: each.sort)


def labels(text: str) -> list[str]:
    return [each.label for each in proposals(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: Ai.Agent\nmodel: !ref |", ["Script"]),
        ("kind: Ai.Agent\nmodel: !ref Scr|", ["Script"]),
        ("kind: Ai.Agent\nmodel: |", ["Script"]),
        ("kind: Ai.Agent\ntoolProviders:\n  - provider: !ref |\nbroken: [", ["FileTools"]),
        ("kind: Ai.Agent\ntoolProviders: [{ provider: !ref |", ["FileTools"]),
        ("kind: AiMcp.ToolService\nclients:\n  - !ref |", ["Files"]),
        ("kind: AiMcp.ToolService\nclients: [ | ]", ["Files"]),
        ("kind: AiMcp.ToolProvider\nclient: { kind: | }", CLIENTS),
        ("kind: AiMcp.ToolProvider\nclient:\n  kind: Mc|\n  command: x", CLIENTS),
        ("kind: Ai.Agent\nonMaxSteps: |", ["return", "throw"]),
        ("kind: Ai.Agent\nonMaxSteps: 'th|'", ["return", "throw"]),
        ("kind: Mcp.StdioClient\nrequired: |", ["true", "false"]),
        ("kind: Mcp.StdioClient\nmetadata: { name: X, | }", []),
        ("kind: Mcp.StdioClient\nmetadata:\n  |", ["name"]),
        ("kind: Mcp.StdioClient\nclientInfo: { | }", ["name", "version"]),
        ("kind: Mcp.StdioClient\nclientInfo:\n  |", ["name", "version"]),
        ("kind: Mcp.StdioClient\nclientInfo:\n  |\n  version: 1.0.0", ["name"]),
        ("kind: Mcp.StdioClient\nclientInfo:\n  name: x\n  ver|", ["version"]),
        ("kind: Ai.Agent\ntoolProviders:\n  - provider: !ref A\n    |", ["prefix", "include", "exclude"]),
        ("kind: Ai.Agent\ntoolProviders:\n  - |", ["provider", "prefix", "include", "exclude"]),
        ("kind: Ai.Agent\ntoolProviders:\n  - pre|: a_", ["provider", "prefix", "include", "exclude"]),
        ('kind: Mcp.StdioClient\nenv: { A: "${{ secrets.| }}" }', ["token"]),
        ('kind: Mcp.StdioClient\nenv: { A: "${{ | }}" }', ["metadata", "secrets", "variables"]),
        ("kind: Ai.Agent\nmaxSteps: !cel variables.re|", ["region"]),
        ("kind: Ai.Agent\nmetadata: { name: X, team: y }\nsystem: a ${{ metadata.|", ["name", "team"]),
        ("kind: Ai.Agent\nsystem: >-\n  some |", []),
        ("kind: Ai.Agent\nsystem: some |", []),
        ("kind: No.Such\n|", ["metadata"]),
        ("kind: Ai.Agent # |", []),
        ("|", ["kind", "metadata"]),
        ("kind: Ai.Agent\n---\n|", ["kind", "metadata"]),
    ],
)
def test_what_fits_is_proposed_and_nothing_else(text: str, expected: list[str]) -> None:
    assert labels(text) == expected


def test_every_kind_is_proposed_after_the_key_kind() -> None:
    found = proposals("kind: |\nmetadata: { name: A }\n")

    assert [each.label for each in found] == Registry().names()
    assert all(each.documentation and each.kind == "kind" for each in found)


def test_fields_come_required_ones_first_with_type_and_description() -> None:
    found = proposals("kind: Mcp.StdioClient\nmetadata: { name: A }\n|\nargs: []\n")

    first = found[0]
    assert (first.label, first.text, first.detail) == ("command", "command: ", "text, not empty (required)")
    assert first.documentation.startswith("The program: ")
    assert "args" not in [each.label for each in found]
    assert "env" in [each.label for each in found]


def test_a_field_that_is_a_slot_comes_with_the_reference() -> None:
    [field] = [each for each in proposals("kind: AiMcp.ToolProvider\n|") if each.label == "client"]

    assert field.text == "client: !ref "


def test_what_was_typed_is_replaced_tag_and_quotes_too() -> None:
    text = 'kind: Ai.Agent\nmodel: !ref "Sc|'

    [name] = proposals(text)

    assert (name.text, text[name.start : name.end].replace("|", "")) == ("!ref Script", '!ref "Sc')


def test_a_tag_is_proposed_while_it_is_typed() -> None:
    assert labels("kind: Ai.Agent\nsystem: !|") == ["!cel ", "!include-text ", "!ref "]
    assert labels("kind: Ai.Agent\nmodel: !r|")[-1] == "Script"


def test_a_reference_to_oneself_is_not_proposed() -> None:
    own = "kind: Ai.FallbackModel\nmetadata: { name: Own }\nmodels: [!ref |"

    assert labels(own) == ["Script"]


def hover(text: str) -> str:
    index = text.index("|")
    text = text.replace("|", "", 1)
    sources = [Source("a.yaml", text.encode(), "."), Source("b.yaml", OTHERS.encode(), ".")]
    return describe(find_cursor(text, index), Registry(), find_declarations(sources), [])


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("kind: Ai.Ag|ent\n", "**Ai.Agent**\n\nA model that works with tools"),
        ("kind: Mcp.Cl|ient\n", "**Mcp.Client** is a contract, which these kinds keep: Mcp.HttpClient, Mcp.S"),
        ("kind: Ai.Agent\nmax|Steps: 3", "**maxSteps**: whole number, at least 1 (default `8`)\n\nMost turns"),
        ("kind: Ai.Agent\nmodel: !ref Sc|ript", "`Script`\n\n**Ai.ScriptedModel**\n\n"),
        ("kind: Ai.Agent\nmodel: { ki|nd: Ai.ScriptedModel }", "**kind**: text (required)"),
        ("kind: Ai.Agent\nmodel: { kind: Ai.ScriptedModel, ru|les: [] }", "**rules**: list of mapping"),
        ("kind: Ai.Agent\nmetadata: { na|me: X }", "**name**: text (required)"),
    ],
)
def test_what_is_under_the_mouse_is_explained(text: str, start: str) -> None:
    assert hover(text)[: len(start)] == start


@pytest.mark.parametrize("text", ["kind: No.Ki|nd\n", "kind: Ai.Agent\nno|Field: 1", "kind: Ai.Agent\nmodel: !ref No|"])
def test_what_is_not_known_is_not_explained(text: str) -> None:
    assert hover(text) == ""
