"""The digest of a client's definition: what a lock was made for."""

from pathlib import Path

import pytest

from runtime.checks import check
from runtime.lock.definition import digest_definition, find_clients
from runtime.manifest import read_sources

PLAIN = """\
kind: Mcp.StdioClient
metadata: { name: Files }
command: server
args: ["a", "${{ secrets.token }}"]
env: { metadata: x }
"""


def digest(folder: Path, text: str) -> dict[str, str]:
    (folder / "set.yaml").write_text(text)
    resources = check(read_sources([str(folder / "set.yaml")]), with_lock=False).resources
    return {key: digest_definition(client) for key, client in find_clients(resources).items()}


@pytest.mark.parametrize(
    "same",
    [
        PLAIN.replace("{ name: Files }", "{ name: Files, note: other }"),
        "# with a note\n" + PLAIN.replace('"a"', "a"),
        'env: { "metadata": "x" }\nargs:\n  - a\n  - ${{ secrets.token }}\ncommand: server\nkind: Mcp.StdioClient\n'
        "metadata: { name: Files }\n",
        "kind: Runtime.Application\nmetadata: { name: App }\nimports: { M: pkg/mcp-client }\n---\n"
        + PLAIN.replace("Mcp.", "M."),
    ],
    ids=["metadata", "notes and quotes", "order and layout", "another prefix"],
)
def test_how_it_is_written_changes_nothing(same: str, tmp_path: Path) -> None:
    assert digest(tmp_path, same) == digest(tmp_path, PLAIN)


@pytest.mark.parametrize(
    "other",
    [
        PLAIN.replace("server", "other"),
        PLAIN.replace('["a",', '["b",'),
        PLAIN.replace("secrets.token", "secrets.other"),
        PLAIN.replace("metadata: x", "metadata: y"),
        PLAIN + "required: false\n",
        PLAIN.replace('"${{ secrets.token }}"', "!cel secrets.token"),
    ],
)
def test_what_is_written_changes_it(other: str, tmp_path: Path) -> None:
    assert digest(tmp_path, other) != digest(tmp_path, PLAIN)


def test_no_value_of_a_secret_goes_into_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "one")
    first = digest(tmp_path, PLAIN)
    monkeypatch.setenv("TOKEN", "two")

    assert digest(tmp_path, PLAIN) == first


def test_inline_clients_are_known_by_where_they_stand(tmp_path: Path) -> None:
    text = """\
kind: AiMcp.ToolService
metadata: { name: All }
clients: [!ref Files, { kind: Mcp.StdioClient, command: a }, { kind: Mcp.HttpClient, url: "https://a.example" }]
---
kind: Ai.Agent
metadata: { name: Clerk }
model: { kind: Ai.ScriptedModel }
toolProviders:
  - provider: { kind: AiMcp.ToolProvider, client: { kind: Mcp.StdioClient, command: a } }
---
"""
    found = digest(tmp_path, text + PLAIN)

    assert list(found) == ["All.clients[1]", "All.clients[2]", "Clerk.toolProviders[0].provider.client", "Files"]
    assert found["All.clients[1]"] == found["Clerk.toolProviders[0].provider.client"]
