"""The schema in use: yaml-language-server, with the settings that `docs/editor.md` names, and what it makes of us."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import environment, run
from language_client import LanguageClient, language_server
from servers.npm import NPM

ROOT = Path(__file__).parent.parent
SERVER = NPM / "node_modules/yaml-language-server/bin/yaml-language-server"
MANIFESTS = sorted((ROOT / "manifests").glob("*.yaml"))
TAGS = ["!ref scalar", "!cel scalar", "!include-text scalar"]

pytestmark = pytest.mark.skipif(
    not SERVER.is_file(), reason="no yaml-language-server in tests/npm: install npm, then run `make test`"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the schema and our examples."""
    folder = tmp_path_factory.mktemp("editor")
    assert run(folder, "schema", "--output", "manifest.schema.json").code == 0
    for manifest in MANIFESTS:
        shutil.copy(manifest, folder)
    return folder


@pytest.fixture(scope="module")
def editor(folder: Path) -> Iterator[LanguageClient]:
    settings = {
        "yaml": {
            "schemas": {(folder / "manifest.schema.json").as_uri(): "*.yaml"},
            "customTags": TAGS,
            "schemaStore": {"enable": False},
        }
    }
    with language_server(["node", SERVER, "--stdio"], folder, environment(folder), settings) as client:
        client.initialize(folder, workspace={"configuration": True})
        client.notify("workspace/didChangeConfiguration", {"settings": settings})
        yield client


def test_the_settings_are_those_of_the_guide() -> None:
    guide = (ROOT / "docs/editor.md").read_text(encoding="utf-8")

    assert json.dumps(TAGS) in guide


@pytest.mark.parametrize("name", [path.name for path in MANIFESTS])
def test_every_example_is_accepted(editor: LanguageClient, folder: Path, name: str) -> None:
    editor.open(folder / name)

    assert editor.findings(folder / name) == []


def test_a_misspelt_field_is_found(editor: LanguageClient, folder: Path) -> None:
    path = folder / "misspelt.yaml"
    editor.open(path, "kind: Mcp.StdioClient\nmetadata: { name: A }\ncommand: x\nargz: []\n")

    assert [found["message"] for found in editor.findings(path)] == ["Property argz is not allowed."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: ", {"Mcp.StdioClient", "Ai.Agent"}),
        ("kind: Mcp.StdioClient\nmetadata: { name: A }\n", {"command", "args", "env"}),
        ("kind: Ai.Agent\ntoolProviders:\n  - provider: !ref Y\n    ", {"prefix", "include", "exclude"}),
        ("kind: Ai.Agent\nonMaxSteps: ", {"throw", "return"}),
    ],
)
def test_kinds_fields_and_values_are_completed(
    editor: LanguageClient, folder: Path, text: str, expected: set[str]
) -> None:
    path = folder / f"complete-{len(text)}.yaml"
    editor.open(path, text)
    lines = text.split("\n")

    found = editor.at("completion", path, (len(lines) - 1, len(lines[-1])))

    assert expected <= {item["label"] for item in found["items"]}


def test_a_field_is_described(editor: LanguageClient, folder: Path) -> None:
    path = folder / "hover.yaml"
    editor.open(path, "kind: Ai.Agent\nmetadata: { name: A }\nmodel: !ref M\nmaxSteps: 3\n")

    shown = editor.at("hover", path, (3, 2))["contents"]["value"]

    assert "Most turns that the model gets in one run." in shown
