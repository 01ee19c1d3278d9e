"""`runtime config`: the set as it will be, as manifests again; no secret in it."""

import json
from pathlib import Path

import pytest
import yaml
from command import run

from runtime.manifest import Expression, Ref, Source, load

SET = """\
kind: Telo.Application
metadata: { name: App }
variables:
  host: { type: string, env: NOTES_HOST }
  zone: { type: string, default: Asia/Tokyo }
secrets:
  token: { default: hunter-22 }
targets: [!ref Clock]
---
kind: Mcp.HttpClient
metadata: { name: Notes, team: blue }
url: "https://${{ variables.host }}/${{ metadata.team }}"
headers: &headers
  Authorization: "Bearer ${{ secrets.token }}"
callTimeoutMs: !cel "1000 * 60"
---
kind: AiMcp.ToolProvider
metadata: { name: NoteTools }
client: !ref Notes
---
kind: Ai.ScriptedModel
metadata: { name: Script }
turns:
  - text: "It is ${{ result.time }} in ${{ variables.zone }}"
---
kind: Ai.Agent
metadata: { name: Clock }
model: !ref Script
system: !include-text system.txt
options: &options { temperature: 0.5, on: "yes" }
toolProviders:
  - provider: !ref NoteTools
    include: ["get_*"]
---
kind: Ai.Agent
metadata: { name: Other }
model: { kind: Ai.ScriptedModel }
options: { text: "a: b", code: "0777", none: "null" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "set.yaml").write_text(SET)
    (tmp_path / "system.txt").write_text("You tell the time.\n\n  Always.\n")
    return tmp_path


def documents(text: str) -> list[dict[str, object]]:
    loaded = load(Source("out.yaml", text.encode(), ""))
    assert loaded.diagnostics == []
    return [dict(document.body) for document in loaded.documents]


def test_values_and_files_are_in_place_and_secrets_are_not(folder: Path) -> None:
    ended = run(folder, "config", "set.yaml", NOTES_HOST="notes.example", TOKEN="t0ken-5a5a")

    application, notes, tools, script, clock, other = documents(ended.out)
    assert ended.code == 0
    assert "hunter-22" not in ended.out and "t0ken" not in ended.out
    assert application["kind"] == "Runtime.Application"
    assert application["secrets"] == {"token": {"default": "***"}}
    assert notes["url"] == "https://notes.example/blue"
    assert (notes["headers"], notes["callTimeoutMs"]) == ({"Authorization": "Bearer ***"}, 60000)
    assert isinstance(tools["client"], Ref) and tools["client"].name == "Notes"
    assert script["turns"] == [{"text": "It is ${{ result.time }} in ${{ variables.zone }}"}]
    assert clock["system"] == "You tell the time.\n\n  Always.\n"
    assert clock["options"] == {"temperature": 0.5, "on": "yes"}
    assert other["model"] == {"kind": "Ai.ScriptedModel"}
    assert other["options"] == {"text": "a: b", "code": "0777", "none": "null"}


def test_what_it_prints_is_a_set_without_errors(folder: Path) -> None:
    ended = run(folder, "config", "set.yaml", NOTES_HOST="notes.example")
    (folder / "again.yaml").write_text(ended.out)

    again = run(folder, "config", "again.yaml", "--quiet", NOTES_HOST="other.example")

    assert (again.code, again.out) == (0, ended.out)


def test_a_variable_without_a_value_is_told_and_no_secret_is_asked_for(folder: Path) -> None:
    ended = run(folder, "config", "set.yaml")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines()[0] == 'set.yaml:12:19: error VALUE_MISSING "variables.host" has no value'
    assert ended.err.count("VALUE_MISSING") == 1


def test_without_interpolation_expressions_and_includes_stay(folder: Path) -> None:
    ended = run(folder, "config", "set.yaml", "--no-interpolate")

    _, notes, _, _, clock, _ = documents(ended.out)
    timeout = notes["callTimeoutMs"]
    assert (ended.code, notes["url"]) == (0, "https://${{ variables.host }}/${{ metadata.team }}")
    assert isinstance(timeout, Expression) and timeout.is_tagged and timeout == "1000 * 60"
    assert clock["system"] == "system.txt"
    assert "system: !include-text system.txt\n" in ended.out


def test_as_json_tags_are_mappings_of_one_key(folder: Path) -> None:
    ended = run(folder, "config", "set.yaml", "--no-interpolate", "--output", "json")

    told = json.loads(ended.out)
    assert told[2]["client"] == {"!ref": "Notes"}
    assert told[1]["callTimeoutMs"] == {"!cel": "1000 * 60"}
    assert told[4]["system"] == {"!include-text": "system.txt"}


def test_a_hash_changes_with_its_resource_alone_and_with_no_value(folder: Path) -> None:
    first = json.loads(run(folder, "config", "set.yaml", "--hash", "--output", "json", NOTES_HOST="a.example").out)
    (folder / "set.yaml").write_text(SET.replace("temperature: 0.5", "temperature: 0.6").replace(", team: blue", ""))
    (folder / "set.yaml").write_text((folder / "set.yaml").read_text().replace("${{ metadata.team }}", "x"))
    second = json.loads(run(folder, "config", "set.yaml", "--hash", "--output", "json", NOTES_HOST="b.example").out)

    assert [name for name in first if first[name] != second[name]] == ["Notes", "Clock"]
    text = run(folder, "config", "set.yaml", "--hash").out
    assert text.splitlines()[1].split() == ["Notes", second["Notes"]]


def test_a_credential_in_the_manifest_is_not_printed(folder: Path) -> None:
    key = "sk-" + "A1" * 20
    (folder / "set.yaml").write_text(SET.replace("Bearer ${{ secrets.token }}", f"Bearer {key}"))

    ended = run(folder, "config", "set.yaml", NOTES_HOST="notes.example")

    assert ended.code == 0
    assert key not in ended.out + ended.err
    assert yaml.safe_load(ended.out.split("---\n")[1])["headers"] == {"Authorization": "Bearer ***"}


def test_text_that_was_put_in_place_is_not_evaluated_again(folder: Path) -> None:
    ended = run(folder, "config", "set.yaml", NOTES_HOST="a${{ secrets.token }}b")
    (folder / "again.yaml").write_text(ended.out)

    again = run(folder, "config", "again.yaml", "--quiet", "--output", "json")

    assert json.loads(again.out)[1]["url"] == {"!cel": '"https://a${{ secrets.token }}b/blue"'}
