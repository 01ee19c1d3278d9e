"""`runtime validate` as people and CI run it: paths, forms, exit codes, colour, and that it starts nothing."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command import RUNTIME, Ended, environment, run
from terminal import on_terminal

from runtime.checks import check
from runtime.manifest import read_sources

VALID = "kind: Ai.Agent\nmetadata: { name: Watch }\nmodel: { kind: Ai.ScriptedModel }\n"
WARNED = "kind: Ai.ScriptedModel\nmetadata: { name: Spare }\n"
INVALID = "kind: Ai.Agent\nmetadata: { name: Watch }\nmodel: !ref Nobody\n"
FINDING = 'error REF_UNRESOLVED there is no resource "Nobody"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "valid.yaml").write_text(VALID)
    (tmp_path / "warned.yaml").write_text(WARNED)
    (tmp_path / "invalid.yaml").write_text(INVALID)
    return tmp_path


def feed(folder: Path, text: str, *arguments: str) -> Ended:
    """Run the command with a text on standard input."""
    done = subprocess.run(
        [RUNTIME, *arguments],
        env=environment(folder),
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_a_valid_set_ends_with_0_and_one_line(folder: Path) -> None:
    assert run(folder, "validate", "valid.yaml") == (0, "1 document: 0 errors, 0 warnings\n", "")
    assert run(folder, "validate", "valid.yaml", "--quiet") == (0, "", "")


def test_an_invalid_set_ends_with_1_and_shows_the_line(folder: Path) -> None:
    shown = (
        f"invalid.yaml:3:8: {FINDING}\n"
        "    model: !ref Nobody\n"
        "           ^\n"
        '    hint: did you mean "Watch"?\n'
        "1 document: 1 error, 0 warnings\n"
    ).replace('    hint: did you mean "Watch"?\n', "")

    assert run(folder, "validate", "invalid.yaml") == (1, shown, "")
    assert run(folder, "validate", "invalid.yaml", "--quiet") == (1, shown, "")


def test_warnings_fail_only_a_strict_run(folder: Path) -> None:
    plain, strict = run(folder, "validate", "warned.yaml"), run(folder, "validate", "warned.yaml", "--strict")

    assert (plain.code, strict.code) == (0, 1)
    assert plain.out == strict.out
    assert plain.out.splitlines()[0] == 'warned.yaml:2:19: warning RESOURCE_UNUSED nothing refers to "Spare"'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.yaml"], 'error: no such file or folder: "gone.yaml" [ERR_USAGE]\n'),
        ([""], 'error: no such file or folder: "" [ERR_USAGE]\n'),
        (["empty"], 'error: no *.yaml or *.yml in the folder "empty" [ERR_USAGE]\n'),
        (["no-*.yaml"], 'error: no file fits "no-*.yaml" [ERR_USAGE]\n'),
    ],
)
def test_a_path_that_gives_nothing_is_wrong_usage(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "empty").mkdir()

    assert run(folder, "validate", *arguments) == (2, "", message)


def test_wrong_options_are_wrong_usage(folder: Path) -> None:
    ended = [run(folder, "validate", *arguments) for arguments in ([], ["valid.yaml", "--output", "xml"], ["--strct"])]

    assert [each.code for each in ended] == [2, 2, 2]
    assert [each.out for each in ended] == ["", "", ""]


def files_of(ended: Ended) -> list[str]:
    found: list[dict[str, Any]] = json.loads(ended.out)["diagnostics"]
    return [each["file"] for each in found]


def test_files_folders_and_globs_are_one_set_in_the_order_of_their_names(folder: Path) -> None:
    inner = folder / "set"
    inner.mkdir()
    (inner / "b.yml").write_text(INVALID)
    (inner / "a.yaml").write_text(INVALID.replace("Watch", "Other"))
    (inner / "notes.md").write_text("no manifest")
    (inner / "deeper").mkdir()
    (inner / "deeper" / "c.yaml").write_text("kind: Nothing\n")

    def files(*paths: str) -> list[str]:
        return files_of(run(folder, "validate", "--output", "json", *paths))

    assert files("set") == ["set/a.yaml", "set/b.yml"]
    assert files("set/") == ["set/a.yaml", "set/b.yml"]
    assert files("./set/b.yml", "set/a.yaml") == ["set/a.yaml", "set/b.yml"]
    assert files("set/*.y*ml") == ["set/a.yaml", "set/b.yml"]
    assert len(files("set", "./set//a.yaml", str(inner / "b.yml"))) == 2
    assert files("se[t]/**/*.yaml")[-1] == "set/deeper/c.yaml"


def test_names_of_files_may_be_odd(folder: Path) -> None:
    (folder / "a b\n\u202ec.yaml").write_text(INVALID)
    (folder / "[x].yaml").write_text(INVALID)

    ended = run(folder, "validate", "a b\n\u202ec.yaml", "--output", "json")

    assert files_of(ended) == ["a b\\n\\u202ec.yaml"]
    assert files_of(run(folder, "validate", "[x].yaml", "--output", "json")) == ["[x].yaml"]


def test_standard_input(folder: Path) -> None:
    valid, invalid = feed(folder, VALID, "validate", "-"), feed(folder, INVALID, "validate", "-", "--output", "json")

    assert valid == (0, "1 document: 0 errors, 0 warnings\n", "")
    assert (invalid.code, files_of(invalid)) == (1, ["<stdin>"])


def test_standard_input_and_files_are_one_set(folder: Path) -> None:
    assert feed(folder, INVALID.replace("Nobody", "Spare"), "validate", "-", "warned.yaml").code == 0


def test_the_shape_of_json(folder: Path) -> None:
    ended = run(folder, "validate", "invalid.yaml", "warned.yaml", "--output", "json")

    assert json.loads(ended.out) == {
        "ok": False,
        "errors": 1,
        "warnings": 0,
        "diagnostics": [
            {
                "code": "REF_UNRESOLVED",
                "severity": "error",
                "file": "invalid.yaml",
                "line": 3,
                "column": 8,
                "message": 'there is no resource "Nobody"',
                "hint": None,
                "resource": "Watch",
            }
        ],
    }
    assert json.loads(run(folder, "validate", "valid.yaml", "--output", "json").out) == {
        "ok": True,
        "errors": 0,
        "warnings": 0,
        "diagnostics": [],
    }


def test_output_is_utf_8_whatever_the_locale_says(folder: Path) -> None:
    (folder / "names.yaml").write_text(INVALID.replace("Nobody", "Größe🌊"), encoding="utf-8")

    data = run(
        folder, "validate", "names.yaml", "--output", "json", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii"
    )
    text = run(folder, "validate", "names.yaml", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii")

    assert json.loads(data.out)["diagnostics"][0]["message"] == 'there is no resource "Größe🌊"'
    assert 'there is no resource "Gr\\xf6\\xdfe\\U0001f30a"' in text.out


@pytest.mark.parametrize(
    ("arguments", "variables", "is_coloured"),
    [
        ([], {}, True),
        (["--no-color"], {}, False),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, True),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    folder: Path, arguments: list[str], variables: dict[str, str], is_coloured: bool
) -> None:
    with on_terminal(folder, "validate", "invalid.yaml", *arguments, **variables) as terminal:
        code = terminal.wait()

    assert code == 1
    assert ("\x1b[" in terminal.shown) is is_coloured
    assert FINDING in terminal.shown.replace("\x1b[1m", "").replace("\x1b[0m", "").replace("\x1b[31m", "")


def test_control_characters_of_a_manifest_do_not_reach_a_terminal(folder: Path) -> None:
    (folder / "odd.yaml").write_text('kind: "Ai\\e[2J\\x07\\u202e.Agent"\nmetadata: { name: Watch } # \u202e\u2066\n')

    with on_terminal(folder, "validate", "odd.yaml", "--no-color") as terminal:
        terminal.wait()

    assert [character for character in terminal.shown if not character.isprintable() and character != "\n"] == []


def test_a_reader_that_goes_away_is_no_fault_of_ours(folder: Path) -> None:
    (folder / "many.yaml").write_text("---\n".join([INVALID] * 3000))

    process = subprocess.Popen(
        [RUNTIME, "validate", "many.yaml"],
        env=environment(folder),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    complaint = process.stderr.read()
    process.wait(60)
    process.stderr.close()

    assert complaint == b""


def test_nothing_is_started_and_no_command_of_a_secret_is_run(folder: Path) -> None:
    (folder / "run.sh").write_text("#!/bin/sh\ntouch started\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "set.yaml").write_text(
        "kind: Runtime.Application\nmetadata: { name: App }\ntargets: [!ref Watch]\n"
        "secrets: { key: { command: [./run.sh], minLength: 5 } }\n---\n"
        f"{VALID}toolProviders:\n  - provider:\n      kind: AiMcp.ToolProvider\n      client:\n"
        "        kind: Mcp.StdioClient\n        command: ./run.sh\n        args: ['$(touch started)', '`touch it`']\n"
        '        env: { KEY: "${{ secrets.key }}" }\n'
    )

    ended = [run(folder, "validate", "set.yaml", *more) for more in ([], ["--env"], ["--output", "sarif"])]

    assert [each.code for each in ended] == [0, 0, 0]
    assert not (folder / "started").exists()


def test_env_looks_for_values_and_commands(folder: Path) -> None:
    (folder / "set.yaml").write_text(
        f"{VALID}system: ${{{{ secrets.first }}}} ${{{{ secrets.second }}}}\ntoolProviders: [{{ provider: {{ kind: "
        "AiMcp.ToolProvider, client: { kind: Mcp.StdioClient, command: no-such-program } } }]\n"
    )
    (folder / ".env").write_text("SECOND=there\n")

    without = run(folder, "validate", "set.yaml")
    missing = run(folder, "validate", "set.yaml", "--env", "--output", "json")
    given = run(folder, "validate", "set.yaml", "--env", "--output", "json", FIRST="there too")

    def found(ended: Ended) -> list[tuple[str, int, int]]:
        return [(each["code"], each["line"], each["column"]) for each in json.loads(ended.out)["diagnostics"]]

    assert without.code == 0
    assert (missing.code, found(missing)) == (1, [("VALUE_MISSING", 4, 13), ("COMMAND_NOT_FOUND", 5, 99)])
    assert (given.code, found(given)) == (0, [("COMMAND_NOT_FOUND", 5, 99)])


def test_nine_broken_files_get_one_answer_from_every_entry_point(tmp_path: Path) -> None:
    broken = {
        "missing-kind": "metadata: { name: A }\n",
        "tab": "kind: Ai.Agent\nmetadata:\n\tname: A\n",
        "quote": 'kind: Ai.Agent\nmetadata: { name: "A }\n',
        "type": f"{VALID}maxSteps: many\n",
        "kind": "kind: Ai.Agnet\nmetadata: { name: A }\n",
        "reference": INVALID,
        "duplicate": f"{VALID}---\n{VALID}",
        "list": "- kind: Ai.Agent\n",
        "typo": f"{VALID}toolProviders: [{{ provider: !ref Watch, inlcude: [read] }}]\n",
    }
    for name, text in broken.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        places = [f"{path.name}:{each.line}:{each.column}: " for each in check(read_sources([str(path)])).diagnostics]

        applied = run(tmp_path, "apply", path.name, "--prompt", "go")

        findings = [line for line in applied.err.splitlines() if line.startswith(path.name)]
        assert [line[: len(place)] for line, place in zip(findings, places, strict=True)] == places
        assert (applied.code, applied.out) == (1, "")
        assert len(places) >= 1 and "Traceback" not in applied.err
    assert (
        run(tmp_path, "validate", "kind.yaml").out.splitlines()[:-1]
        == run(tmp_path, "apply", "kind.yaml").err.splitlines()
    )


def test_an_empty_file_is_valid_and_has_nothing_to_apply(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("")

    assert run(tmp_path, "validate", "empty.yaml") == (0, "0 documents: 0 errors, 0 warnings\n", "")
