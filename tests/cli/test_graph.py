"""`runtime graph`: a set as a picture, drawn with nothing started."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command import Ended, run

SET = """\
kind: Runtime.Application
metadata: { name: App }
targets: [!ref Clerk]
---
kind: Ai.Agent
metadata: { name: Clerk }
model: !ref Script
toolProviders:
  - provider: !ref NoteTools
    prefix: n_
  - provider:
      kind: Ai.Tools
      tools: [{ tool: !ref Helper, name: help, parameters: { type: object } }]
---
kind: Ai.Agent
metadata: { name: Helper }
model: !ref Script
---
kind: Ai.ScriptedModel
metadata: { name: Script }
turns: [{ text: hello }]
---
kind: AiMcp.ToolProvider
metadata: { name: NoteTools }
client: !ref Notes
---
kind: Mcp.StdioClient
metadata: { name: Notes }
command: touch
args: [started]
"""
MERMAID = """\
flowchart LR
  r0(["Clerk<br>Ai.Agent"])
  r1["Ai.Tools in Clerk<br>Ai.Tools"]
  r2(["Helper<br>Ai.Agent"])
  r3{{"Script<br>Ai.ScriptedModel"}}
  r4["NoteTools<br>AiMcp.ToolProvider"]
  r5[["Notes<br>Mcp.StdioClient"]]
  r0 -->|"model"| r3
  r0 -->|"toolProviders n_"| r4
  r0 -->|"toolProviders"| r1
  r1 -->|"tools"| r2
  r2 -->|"model"| r3
  r4 -->|"client"| r5
"""
DOT = """\
digraph manifest {
  rankdir=LR;
  node [shape=box, fontname="sans-serif"];
  r0 [label="Clerk\\nAi.Agent", shape=Mrecord];
  r1 [label="Ai.Tools in Clerk\\nAi.Tools"];
  r2 [label="Helper\\nAi.Agent", shape=Mrecord];
  r3 [label="Script\\nAi.ScriptedModel", shape=hexagon];
  r4 [label="NoteTools\\nAiMcp.ToolProvider"];
  r5 [label="Notes\\nMcp.StdioClient", shape=component];
  r0 -> r3 [label="model"];
  r0 -> r4 [label="toolProviders n_"];
  r0 -> r1 [label="toolProviders"];
  r1 -> r2 [label="tools"];
  r2 -> r3 [label="model"];
  r4 -> r5 [label="client"];
}
"""
SVG = "{http://www.w3.org/2000/svg}"


def graph(folder: Path, *arguments: str, manifest: str = SET) -> Ended:
    (folder / "set.yaml").write_text(manifest)
    return run(folder, "graph", "set.yaml", "--quiet", *arguments)


@pytest.mark.parametrize(("arguments", "expected"), [((), MERMAID), (("--output", "dot"), DOT)])
def test_the_picture_as_text_has_every_resource_and_every_reference(
    arguments: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    ended = graph(tmp_path, *arguments)

    assert ended == Ended(0, expected, "")
    assert not (tmp_path / "started").exists()


def test_the_picture_as_json_says_where_each_resource_stands(tmp_path: Path) -> None:
    found = json.loads(graph(tmp_path, "--output", "json").out)

    assert [(each["id"], each["name"], each["role"], each["line"]) for each in found["resources"]] == [
        (0, "Clerk", "agent", 5),
        (1, "Ai.Tools in Clerk", "tools", 12),
        (2, "Helper", "agent", 15),
        (3, "Script", "model", 19),
        (4, "NoteTools", "tools", 23),
        (5, "Notes", "server", 27),
    ]
    assert found["resources"][5] == {
        "id": 5,
        "name": "Notes",
        "kind": "Mcp.StdioClient",
        "role": "server",
        "file": "set.yaml",
        "line": 27,
    }
    assert found["links"][:2] == [
        {"from": 0, "to": 3, "field": "model"},
        {"from": 0, "to": 4, "field": "toolProviders", "prefix": "n_"},
    ]


def test_the_picture_as_svg_tells_in_words_what_it_shows(tmp_path: Path) -> None:
    root = ElementTree.fromstring(graph(tmp_path, "--output", "svg").out)

    assert (root.tag, root.get("role"), root.get("aria-labelledby")) == (f"{SVG}svg", "img", "title desc")
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and title.text == "6 resources and how they refer to each other"
    assert desc is not None and desc.text == (
        "Clerk (Ai.Agent, refers to Script, NoteTools, Ai.Tools in Clerk); "
        "Ai.Tools in Clerk (Ai.Tools, refers to Helper); Helper (Ai.Agent, refers to Script); "
        "Script (Ai.ScriptedModel); NoteTools (AiMcp.ToolProvider, refers to Notes); Notes (Mcp.StdioClient)"
    )
    names = [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "name"]
    assert names == ["Clerk", "Ai.Tools in Clerk", "Helper", "Script", "NoteTools", "Notes"]
    style = root.find(f"{SVG}style")
    assert style is not None and "prefers-color-scheme: dark" in str(style.text)
    assert len(list(root.iter(f"{SVG}path"))) == 1 + 6 + 6  # the tip, a line for each reference, a sign for each box


def test_a_faulty_set_is_not_drawn_and_its_findings_are_told(tmp_path: Path) -> None:
    ended = graph(tmp_path, manifest=SET.replace("!ref Notes\n", "!ref Nots\n"))

    assert (ended.code, ended.out, "REF_UNRESOLVED" in ended.err) == (1, "", True)


def test_cases_of_tests_are_not_drawn(tmp_path: Path) -> None:
    case = """---
kind: Test.Case
metadata: { name: Greets }
agent: !ref Clerk
prompt: hi
expect: { text: { contains: hello } }
"""
    ended = graph(tmp_path, manifest=SET + case)

    assert ended == Ended(0, MERMAID, "")
