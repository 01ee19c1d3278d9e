"""The language server as an editor has it: a child process that a client speaks with over its pipes."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import RUNTIME, environment, left_behind, run
from language_client import LanguageClient, Refused, language_server

TOOLS = """\
kind: Mcp.StdioClient
metadata: { name: Files }
command: files
---
kind: AiMcp.ToolProvider
metadata: { name: FileTools }
client: !ref Files
"""
AGENT = """\
kind: Ai.Agent
metadata: { name: Assistant }
model: { kind: Ai.ScriptedModel }
toolProviders:
  - provider: !ref FileTools
    prefix: fs_
"""
SECONDS = 2.0
"""The bound of a test for what takes a tenth of it on an idle machine: this one may be busy."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LanguageClient]:
    """One server for all tests; each has a folder, and so a set, of its own."""
    home = tmp_path_factory.mktemp("home")
    with language_server([RUNTIME, "lsp"], home, environment(home)) as client:
        client.initialize(home, workspace={"didChangeWatchedFiles": {"dynamicRegistration": True}})
        yield client
    assert left_behind(home) == []


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.yaml"
    path.write_text(TOOLS)
    return path


@pytest.fixture
def agent(tmp_path: Path, tools: Path) -> Path:
    path = tmp_path / "agent.yaml"
    path.write_text(AGENT)
    return path


def end_of(text: str) -> tuple[int, int]:
    lines = text.split("\n")
    return len(lines) - 1, len(lines[-1])


def brief(found: list[dict[str, Any]]) -> list[tuple[str, int, int, int, int]]:
    """Each finding as its code and the start and the end of its range."""
    return [
        (
            each["code"],
            each["range"]["start"]["line"],
            each["range"]["start"]["character"],
            each["range"]["end"]["line"],
            each["range"]["end"]["character"],
        )
        for each in found
    ]


def apply_edits(text: str, edits: list[dict[str, Any]]) -> str:
    """The text after the edits of one line each, as an editor makes them."""
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda each: each["range"]["start"]["character"], reverse=True):
        start, end = edit["range"]["start"], edit["range"]["end"]
        line = lines[start["line"]]
        lines[start["line"]] = line[: start["character"]] + edit["newText"] + line[end["character"] :]
    return "\n".join(lines)


def test_findings_of_the_whole_folder_follow_what_is_typed(server: LanguageClient, agent: Path, tools: Path) -> None:
    server.open(agent)
    assert server.findings(agent, 1) == []

    version = server.change(agent, AGENT.replace("FileTools", "FileTool").replace("prefix", "prefi"))

    found = server.findings(agent, version)
    assert brief(found) == [("REF_UNRESOLVED", 4, 14, 4, 27), ("SCHEMA_UNKNOWN_FIELD", 5, 4, 5, 9)]
    assert found[0]["message"] == 'there is no resource "FileTool"\ndid you mean "FileTools"?'
    assert (found[0]["severity"], found[0]["source"]) == (1, "runtime")

    server.change(agent, AGENT)
    server.open(tools, TOOLS.replace("name: FileTools", "name: Other"))

    assert brief(server.findings(agent, 3)) == [("REF_UNRESOLVED", 4, 14, 4, 28)]


def test_a_text_that_is_no_yaml_has_its_finding(server: LanguageClient, agent: Path) -> None:
    server.open(agent, AGENT + "options: [\n")

    [found] = server.findings(agent, 1)

    assert found["code"] == "YAML_SYNTAX"


def test_a_file_that_is_closed_counts_as_it_is_on_disk(server: LanguageClient, agent: Path, tools: Path) -> None:
    server.open(agent)
    server.open(tools, "")
    assert brief(server.findings(agent, 1)) in ([("REF_UNRESOLVED", 4, 14, 4, 28)], [])
    server.close(tools)
    version = server.change(agent, AGENT)

    assert server.findings(agent, version) == []


def test_a_change_on_disk_is_noticed_when_the_editor_tells_of_it(
    server: LanguageClient, agent: Path, tools: Path
) -> None:
    server.open(agent)
    assert server.findings(agent, 1) == []
    tools.unlink()

    changes = [{"uri": tools.as_uri(), "type": 3}]
    server.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    found = server.wait("textDocument/publishDiagnostics", lambda params: bool(params["diagnostics"]))
    assert found["uri"] == agent.as_uri()
    assert server.findings(tools) == []
    assert server.registered == ["workspace/didChangeWatchedFiles"]


def test_a_lock_that_cannot_be_read_has_its_finding(server: LanguageClient, agent: Path) -> None:
    lock = agent.with_name("runtime.lock")
    lock.write_text("runtime: [\n")

    server.open(agent)

    assert [(each["code"], each["range"]["start"]["character"]) for each in server.findings(lock)] == [
        ("YAML_SYNTAX", 0)
    ]
    lock.unlink()
    server.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": lock.as_uri(), "type": 3}]})
    assert server.findings(lock) == []


def test_yaml_that_is_no_manifest_is_left_alone(server: LanguageClient, agent: Path) -> None:
    other = agent.with_name("compose.yaml")
    server.open(other, "services: { web: { image: nginx } }\n")
    server.open(agent)

    assert server.findings(agent, 1) == []
    assert server.at("hover", agent, (5, 13)) is None
    assert server.published(other) == []


def test_kinds_are_completed_after_the_key_kind(server: LanguageClient, agent: Path) -> None:
    text = AGENT + "---\nkind: "
    server.open(agent, text)

    items = server.at("completion", agent, end_of(text))

    found = {item["label"]: item for item in items}
    assert {"Mcp.StdioClient", "Ai.Agent", "AiMcp.ToolProvider"} <= found.keys()
    edit = found["Mcp.StdioClient"]["textEdit"]
    assert apply_edits(text, [edit]) == text + "Mcp.StdioClient"
    assert found["Ai.Agent"]["documentation"]["value"].startswith("A model that works with tools")


def test_fields_are_completed_inside_a_client(server: LanguageClient, agent: Path) -> None:
    text = AGENT + "---\nkind: Mcp.StdioClient\nmetadata: { name: More }\nco"
    server.open(agent, text)

    items = server.at("completion", agent, end_of(text))

    first = min(items, key=lambda item: item["sortText"])
    assert (first["label"], first["detail"]) == ("command", "text, not empty (required)")
    assert apply_edits(text, [first["textEdit"]]).endswith("\ncommand: ")


def test_names_that_fit_are_completed_after_a_reference_across_files(
    server: LanguageClient, agent: Path, tools: Path
) -> None:
    text = AGENT.replace("!ref FileTools\n    prefix: fs_", "!ref ")
    server.open(tools, TOOLS + "---\nkind: AiMcp.ToolService\nmetadata: { name: All }\nclients: [\n")
    server.open(agent, text)

    items = server.at("completion", agent, (4, len("  - provider: !ref ")))

    assert [(item["label"], item["detail"]) for item in items] == [
        ("FileTools", "AiMcp.ToolProvider"),
        ("All", "AiMcp.ToolService"),
    ]


def test_columns_are_those_of_the_protocol(server: LanguageClient, agent: Path) -> None:
    line = '  - { prefix: "\U0001f600\U0001f600", provider: !ref FileTool }'
    text = AGENT.replace("  - provider: !ref FileTools\n    prefix: fs_", line)
    server.open(agent, text)

    found = [each for each in brief(server.findings(agent, 1)) if each[0] == "REF_UNRESOLVED"]
    items = server.at("completion", agent, (4, 34))

    assert found == [("REF_UNRESOLVED", 4, 32, 4, 45)]
    assert [item["textEdit"]["range"]["start"]["character"] for item in items] == [32]


def test_hovering_tells_of_kinds_fields_resources_and_codes(server: LanguageClient, agent: Path) -> None:
    server.open(agent, AGENT.replace("Assistant", "2nd"))
    assert brief(server.findings(agent, 1)) == [("NAME_INVALID", 1, 18, 1, 21)]

    def told(line: int, column: int) -> str:
        value: str = server.at("hover", agent, (line, column))["contents"]["value"]
        return value

    assert told(0, 8).startswith("**Ai.Agent**\n\nA model that works with tools")
    assert told(5, 6).startswith("**prefix**: text\n\nPut before each tool's name")
    assert told(4, 22).startswith("`FileTools`\n\n**AiMcp.ToolProvider**")
    assert told(1, 19).startswith("**NAME_INVALID** (error): a name is not made of letters, digits and underscores")
    assert server.at("hover", agent, (5, 13)) is None


def test_the_definition_of_a_reference_is_found_in_another_file(
    server: LanguageClient, agent: Path, tools: Path
) -> None:
    server.open(agent)

    found = server.at("definition", agent, (4, 20))

    assert found == {
        "uri": tools.as_uri(),
        "range": {"start": {"line": 5, "character": 18}, "end": {"line": 5, "character": 27}},
    }
    assert server.at("definition", agent, (0, 8)) is None


def test_the_definition_of_an_included_text_is_its_file(server: LanguageClient, agent: Path) -> None:
    prompt = agent.with_name("prompt.md")
    prompt.write_text("You help.\n")
    server.open(agent, AGENT + "system: !include-text prompt.md\n")

    assert server.at("definition", agent, (6, 25))["uri"] == prompt.as_uri()


def test_renaming_changes_every_file_and_nothing_else(server: LanguageClient, agent: Path, tools: Path) -> None:
    text = AGENT.replace("!ref FileTools", '!ref "FileTools"') + "system: FileTools # FileTools\nbroken: ["
    server.open(agent, text)

    under = server.at("prepareRename", agent, (4, 22))
    edit = server.at("rename", agent, (4, 22), newName="Reading")

    assert under == {"start": {"line": 4, "character": 20}, "end": {"line": 4, "character": 29}}
    changed = {
        uri: apply_edits(old, edit["changes"][uri]) for uri, old in ((agent.as_uri(), text), (tools.as_uri(), TOOLS))
    }
    assert edit["changes"].keys() == changed.keys()
    assert changed[agent.as_uri()] == text.replace('"FileTools"', '"Reading"')
    assert changed[tools.as_uri()] == TOOLS.replace("FileTools", "Reading")


def test_a_name_without_a_reference_is_renamed_where_it_is_one(server: LanguageClient, tools: Path) -> None:
    text = """\
kind: AiMcp.ToolService
metadata: { name: All }
clients: [!ref Files]
enabled: true
mode: manual
selectedServers: [Files, "Files"]
---
kind: Ai.Agent
metadata: { name: Agent }
model: { kind: Ai.ScriptedModel }
system: Files
toolProviders: [{ provider: !ref All, include: [Files] }]
---
kind: Test.Case
metadata: { name: Reads }
agent: !ref Agent
inputs: { Files: Files }
mcp: { Files: !ref Files, "Files": !ref Files, Files.client: !ref Files }
cassette: { path: Files, ignore: { Files: [/a] } }
"""
    path = tools.with_name("service.yaml")
    path.write_text(text)
    server.open(path)

    mcp = next(line for line in text.splitlines() if line.startswith("mcp"))
    column = mcp.index('"Files"') + 1

    edit = server.at("rename", path, (5, 20), newName="Disk")
    under = server.at("prepareRename", path, (17, column + 2))

    renamed = text.replace("clients: [!ref Files]", "clients: [!ref Disk]").replace("ignore: { Files", "ignore: { Disk")
    renamed = renamed.replace(': [Files, "Files"]', ': [Disk, "Disk"]').replace(mcp, mcp.replace("Files", "Disk"))
    assert apply_edits(text, edit["changes"][path.as_uri()]) == renamed
    changed = apply_edits(TOOLS, edit["changes"][tools.as_uri()])
    assert changed == TOOLS.replace("name: Files", "name: Disk").replace("!ref Files", "!ref Disk")
    assert under == {"start": {"line": 17, "character": column}, "end": {"line": 17, "character": column + 5}}


def test_a_name_without_a_reference_leads_to_its_definition(server: LanguageClient, tools: Path) -> None:
    path = tools.with_name("service.yaml")
    text = "kind: AiMcp.ToolService\nmetadata: { name: All }\nselectedServers: [Files]\nclients: [!ref Files]\n"
    path.write_text(text)
    server.open(path)

    assert server.at("definition", path, (2, 20))["uri"] == tools.as_uri()
    assert server.at("definition", path, (1, 20))["uri"] == path.as_uri()


def test_a_name_can_be_changed_where_it_is_declared(server: LanguageClient, agent: Path, tools: Path) -> None:
    server.open(tools)

    edit = server.at("rename", tools, (5, 20), newName="Reading")

    assert sorted(edit["changes"]) == sorted([agent.as_uri(), tools.as_uri()])


@pytest.mark.parametrize(
    ("new", "message"),
    [("Files", 'the name "Files" is taken'), ("a b", '"a b" is no name: use letters, digits and underscores')],
)
def test_a_name_that_cannot_be_is_refused(server: LanguageClient, agent: Path, new: str, message: str) -> None:
    server.open(agent)

    with pytest.raises(Refused, match=message):
        server.at("rename", agent, (4, 22), newName=new)


def test_what_is_no_name_is_not_renamed(server: LanguageClient, agent: Path) -> None:
    server.open(agent)

    assert server.at("prepareRename", agent, (0, 8)) is None
    assert server.at("rename", agent, (0, 8), newName="Other") is None


def large(documents: int) -> str:
    """A manifest of that many documents."""
    return "---\n".join(
        TOOLS.replace("Files", f"Files{number}").replace("FileTools", f"Tools{number}")
        + f"---\nkind: Ai.ScriptedModel\nmetadata: {{ name: Model{number} }}\n---\n"
        + AGENT.replace("Assistant", f"Agent{number}").replace("FileTools", f"Tools{number}")
        for number in range(documents // 4)
    )


def test_a_finding_comes_soon_after_a_keystroke_in_a_file_of_200_documents(
    server: LanguageClient, tmp_path: Path, record_property: Any
) -> None:
    path = tmp_path / "large.yaml"
    text = large(200)
    server.open(path, text)
    server.findings(path, 1)
    took = []
    for count in range(7):
        started = time.perf_counter()
        version = server.change(path, f"{text}---\nkind: Ai.Agen{'x' * count}\nmetadata: {{ name: Late }}\n")
        found = server.findings(path, version)
        took.append(time.perf_counter() - started)
        assert "KIND_UNKNOWN" in [each["code"] for each in found]
    took.sort()
    record_property("seconds", took)
    print(f"from keystroke to finding: median {took[3] * 1000:.0f} ms, worst {took[-1] * 1000:.0f} ms")

    assert took[3] < SECONDS


def test_without_its_package_the_command_tells_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError('No module named pygls', name='pygls')\n")

    ended = run(tmp_path, "lsp", PYTHONPATH=str(tmp_path))

    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        'error: the language server needs the package "pygls" [ERR_USAGE]\n'
        '    hint: python -m pip install "manifest-runtime[lsp]"\n'
    )
