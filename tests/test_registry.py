"""Names to kinds: ours by the file's name, imported ones by their prefix, none where an import fails."""

import subprocess
import sys
from pathlib import Path

import pytest
from command import run

from runtime.registry import Contract, Entry, Registry

KIND = '''"""A kind."""

from runtime import Kind, kind


@kind("{name}")
class Thing(Kind):
    """A thing."""

    size: int = 1
'''


def kind_name(registry: Registry, name: str) -> str | None:
    found = registry.find(name)
    return found.name if found is not None else None


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Ai.Agent", Entry),
        ("AiOpenai.OpenaiModel", Entry),
        ("Telo.Application", Entry),
        ("Mcp.Client", Contract),
        ("Runtime.Invocable", Contract),
        ("Ai.agent", None.__class__),
        ("ai.Agent", None.__class__),
        ("AI.Agent", None.__class__),
        ("Ai.AGENT", None.__class__),
        ("Ai", None.__class__),
        ("Ai.Agent.Extra", None.__class__),
        ("AiMcp.Bridge", None.__class__),
        ("Ai.Scripting", None.__class__),
        ("Ai.__init__", None.__class__),
        ("", None.__class__),
        ("../Ai.Agent", None.__class__),
        ("Ai.Ag\0ent", None.__class__),
        ("A" * 100_000 + "." + "B" * 100_000, None.__class__),
    ],
)
def test_a_name_finds_its_kind_and_nothing_else(name: str, found: type) -> None:
    assert type(Registry().find(name)) is found


def test_names_are_those_of_kinds_alone() -> None:
    registry = Registry()

    names = registry.names()

    assert {"Ai.Agent", "Mcp.StdioClient", "Runtime.Application"} <= set(names)
    assert [name for name in names if not isinstance(registry.find(name), Entry)] == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("oci://registry.example/modules/ai-openai@0.15.3#sha256-abc", "AiOpenai.OpenaiModel"),
        ("registry.example/modules/mcp-client", "Mcp.StdioClient"),
        ("ai/", "Ai.Agent"),
    ],
)
def test_an_import_of_a_module_of_ours_is_one_more_prefix(source: str, name: str) -> None:
    registry = Registry()

    assert registry.add_import("Alias", source, ".") is None
    assert kind_name(registry, f"Alias.{name.partition('.')[2]}") == name
    assert f"Alias.{name.partition('.')[2]}" in registry.names()


@pytest.mark.parametrize(
    "source", ["", ".", "..", "/", "AI", "ai.agent", "no-such-module", "oci://registry.example/", "a\0b"]
)
def test_an_import_that_names_no_module(source: str) -> None:
    registry = Registry()

    problem = registry.add_import("Alias", source, ".")

    assert problem is not None and problem.startswith("there is no module ")
    assert registry.is_lost("Alias.Thing")
    assert not registry.is_lost("Ai.Agent")


def test_a_local_file_and_a_local_folder(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(KIND.format(name="One.Thing"))
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "a.py").write_text(KIND.format(name="Many.First"))
    (folder / "b.py").write_text(KIND.format(name="Many.Second"))
    (folder / "notes.md").write_text("no kind")
    registry = Registry()

    assert registry.add_import("One", "./one.py", str(tmp_path)) is None
    assert registry.add_import("Many", "./many", str(tmp_path)) is None
    assert [kind_name(registry, name) for name in ("One.Thing", "Many.First", "Many.Second", "Many.Third")] == [
        "One.Thing",
        "Many.First",
        "Many.Second",
        None,
    ]


def test_files_of_one_name_in_two_folders_are_two_modules(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        text = KIND.format(name=f"{name.upper()}.Thing").replace("int = 1", f'Size = "{name}"')
        text = text.replace(
            "from runtime", "from __future__ import annotations\n\nfrom typing import Literal\n\nfrom runtime"
        )
        text = text.replace("\n\n@kind", f'\nSize = Literal["{name}"]\n\n\n@kind', 1)
        (tmp_path / name / "kinds.py").write_text(text)
    registry = Registry()

    for name in ("a", "b"):
        assert registry.add_import(name.upper(), f"./{name}/kinds.py", str(tmp_path)) is None

    entries = [registry.find(f"{name}.Thing") for name in ("A", "B")]
    sizes = [
        entry.shape.schema["$defs"]["Thing"]["properties"]["size"]["enum"]
        for entry in entries
        if isinstance(entry, Entry)
    ]
    assert sizes == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("raise RuntimeError('first line\\nsecond line')", '"kinds.py" cannot be imported: first line'),
        ("raise RuntimeError", '"kinds.py" cannot be imported: RuntimeError'),
        ("import sys; sys.exit(3)", '"kinds.py" cannot be imported: 3'),
        ("import no_such_module_here", "\"kinds.py\" cannot be imported: No module named 'no_such_module_here'"),
        ("def f(:", '"kinds.py" cannot be imported: invalid syntax (kinds.py, line 1)'),
        ("x = 1", '"kinds.py" holds no kind, and no function'),
        (
            KIND.format(name="Odd.Thing").replace("int = 1", "object"),
            '"kinds.py" cannot be imported: no schema can be made of the fields of "Odd.Thing"',
        ),
    ],
)
def test_a_local_file_that_cannot_be_used(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "kinds.py").write_text(text)

    assert Registry().add_import("Odd", "./kinds.py", str(tmp_path)) == problem


def test_what_a_local_file_prints_is_not_on_our_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kinds.py").write_text('print("loud")\n' + KIND.format(name="Loud.Thing"))

    assert Registry().add_import("Loud", "./kinds.py", str(tmp_path)) is None
    assert capsys.readouterr() == ("", "loud\n")


@pytest.fixture
def third_party(tmp_path: Path) -> Path:
    """Packages of third parties, one of which cannot be imported, as if they were installed."""
    package = tmp_path / "acme_kinds" / "acme"
    package.mkdir(parents=True)
    (tmp_path / "acme_kinds" / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "rocket.py").write_text(KIND.format(name="Acme.Rocket"))
    (package / "broken.py").write_text("raise OSError('no fuel')\n")
    metadata = tmp_path / "acme-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[runtime.kinds]\nacme = acme_kinds\ngone = no_such_package\n")
    return tmp_path


def test_a_third_party_adds_its_kinds_by_an_entry_point(third_party: Path) -> None:
    program = """
from runtime.errors import Error
from runtime.registry import Registry

registry = Registry()
print(registry.find("Acme.Rocket").name, "Acme.Rocket" in registry.names(), "Acme.Broken" in registry.names())
try:
    registry.find("Acme.Broken")
except Error as error:
    print(error.message)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(third_party)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.stdout, done.stderr) == (
        'Acme.Rocket True False\nthe kind "Acme.Broken" cannot be imported: no fuel\n',
        "",
    )


def test_a_kind_that_cannot_be_imported_is_a_finding(third_party: Path) -> None:
    (third_party / "set.yaml").write_text("kind: Acme.Broken\nmetadata: { name: A }\n")

    done = run(third_party, "validate", "set.yaml", PYTHONPATH=str(third_party))

    assert done.out.splitlines()[0] == (
        'set.yaml:1:7: error KIND_UNKNOWN the kind "Acme.Broken" cannot be imported: no fuel'
    )
