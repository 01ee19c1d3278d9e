"""Documents to values: once, as they are, and everything that is missing in one report before anything starts."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import runtime
from runtime.checks import check
from runtime.errors import ToolError
from runtime.manifest import read_sources
from runtime.resolver import Resolved, resolve

pytestmark = pytest.mark.anyio

KINDS = Path(__file__).with_name("steps") / "kinds.py"
HEAD = """\
kind: Runtime.Application
metadata: {{ name: App }}
imports: {{ Test: ./kinds.py }}
{application}
---
kind: Test.Step
metadata: {{ name: Step, floor: attic, notes: !include-text notes.md }}
{step}
"""
ODD = "a: b\n- !ref X\n# end\n${{ secrets.other }} \\n 'it''s' \"q\" \u2028 🌊\n"
"""A value that looks like everything that it is not."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(KINDS, tmp_path / "kinds.py")
    (tmp_path / "notes.md").write_bytes(b"kept as it is\r\n${{ secrets.no }}\n")
    return tmp_path


def resolved(folder: Path, step: str, application: str = "", **environment: str) -> Resolved:
    path = folder / "set.yaml"
    path.write_text(HEAD.format(step=step, application=application))
    checked = check(read_sources([str(path)]))
    assert [found.message for found in checked.diagnostics if found.severity == "error"] == []
    step_of_set = [each for each in checked.resources.resources if each.name == "Step"]
    return resolve(checked, step_of_set, environment)


def fields(folder: Path, step: str, application: str = "", **environment: str) -> dict[str, Any]:
    found = resolved(folder, step, application, **environment).find("Step")
    assert found is not None
    return found.fields


def names(block: str, *each: str) -> str:
    """A field that holds these values."""
    return "data: [" + ", ".join(f'"${{{{ {block}.{name} }}}}"' for name in each) + "]"


def findings(folder: Path, step: str, application: str = "", **environment: str) -> list[str]:
    """Places, codes, messages and hints of what keeps the set from being resolved."""
    with pytest.raises(runtime.ManifestError) as caught:
        resolved(folder, step, application, **environment)
    return [
        f"{found.line}:{found.column} {found.code} {found.message}" + (f" ({found.hint})" if found.hint else "")
        for found in caught.value.diagnostics
    ]


def test_a_value_arrives_byte_for_byte_and_is_never_parsed_or_evaluated_again(folder: Path) -> None:
    step = 'text: "${{ secrets.odd }}"\ndata: { inside: "<${{ secrets.odd }}>", sum: !cel "secrets.odd + \'!\'" }'

    assert fields(folder, step, ODD=ODD, OTHER="never") == {
        "text": ODD,
        "data": {"inside": f"<{ODD}>", "sum": f"{ODD}!"},
    }


def test_a_string_that_is_only_an_expression_keeps_its_type(folder: Path) -> None:
    application = """variables:
  n: { type: integer, default: 3 }
  f: { type: number, default: 1 }
  b: { type: boolean, default: true }
  l: { type: array, default: [1, { a: null }] }
  o: { type: object, default: { z: 1, a: 2 } }"""
    step = """number: "${{ variables.n * 2 }}"
data:
  - "${{ variables.f }}"
  - "${{ variables.b }}"
  - "${{ variables.l }}"
  - "${{ variables.o }}"
  - "n=${{ variables.n }} b=${{ variables.b }} l=${{ variables.l }}\""""

    assert fields(folder, step, application) == {
        "number": 6,
        "data": [1, True, [1, {"a": None}], {"z": 1, "a": 2}, 'n=3 b=true l=[1,{"a":null}]'],
    }


def test_metadata_is_what_the_resource_has_and_included_files_are_texts(folder: Path) -> None:
    step = (
        'text: "${{ metadata.name }} in the ${{ metadata.floor }}: ${{ metadata.notes }}"\ndata: !include-text notes.md'
    )
    notes = "kept as it is\r\n${{ secrets.no }}\n"

    assert fields(folder, step) == {"text": f"Step in the attic: {notes}", "data": notes}


def test_the_environment_gives_typed_values_and_an_empty_one_counts(folder: Path) -> None:
    application = """variables:
  n: { type: integer, env: N }
  f: { type: number, env: F }
  b: { type: boolean, env: B }
  l: { type: array, env: L, items: { type: string } }
  o: { type: object, env: O }
  e: { default: not empty }
  camelCase: {}"""
    step = names("variables", "n", "f", "b", "l", "o", "e", "camelCase")
    given = {"N": "-7", "F": "2.5e1", "B": "false", "L": '["x"]', "O": '{"k": [1]}', "E": "", "CAMEL_CASE": "hump"}

    assert fields(folder, step, application, **given)["data"] == [-7, 25.0, False, ["x"], {"k": [1]}, "", "hump"]


def test_secrets_come_from_the_environment_then_dotenv_then_a_file_then_a_command(folder: Path) -> None:
    (folder / ".env").write_text("ONE=\"from dotenv\"\nTWO='$ONE ${TWO} #'\nFOUR=four\n")
    (folder / "three.txt").write_bytes(b"line\r\nline\r\n")
    application = """secrets:
  one: { env: ONE }
  two: { env: TWO }
  three: { file: three.txt }
  four: { env: FOUR, command: [no-such-command] }
  five: { command: [sh, -c, "printf 'fi\\\\nve\\\\n'"] }
  six: { default: only for tests }"""
    step = names("secrets", "one", "two", "three", "four", "five", "six")

    found = resolved(folder, step, application, ONE="from the environment")

    [node] = found.nodes
    assert node.fields["data"] == [
        "from the environment",
        "$ONE ${TWO} #",
        "line\r\nline",
        "four",
        "fi\nve",
        "only for tests",
    ]
    assert sorted(found.values.secrets) == sorted(node.fields["data"])


def test_everything_that_is_missing_is_in_one_report(folder: Path) -> None:
    application = """variables: { a: {}, b: { env: BEE } }
secrets: { c: {}, d: { file: gone.txt }, e: { command: [no-such-command] } }"""
    step = """text: "${{ variables.a }} ${{ secrets.c }}"
data:
  - "${{ variables.a }}"
  - |
    and ${{ variables.b }}
    ${{ secrets.d + secrets.e }}"""

    assert findings(folder, step, application) == [
        '9:12 VALUE_MISSING "variables.a" has no value (set A in the environment or in ".env")',
        '9:31 VALUE_MISSING "secrets.c" has no value (set C in the environment or in ".env")',
        '13:13 VALUE_MISSING "variables.b" has no value (set BEE in the environment or in ".env")',
        '14:9 VALUE_MISSING "secrets.d" has no value (the file "gone.txt" is not there)',
        '14:21 VALUE_MISSING "secrets.e" has no value (the command "no-such-command" is not on PATH)',
    ]


def test_only_what_is_wanted_has_to_have_values(folder: Path) -> None:
    step = "text: plain\n---\nkind: Test.Step\nmetadata: { name: Other }\ntext: ${{ secrets.missing }}"

    assert fields(folder, step) == {"text": "plain"}


@pytest.mark.parametrize(
    ("declaration", "value", "problem"),
    [
        ("type: integer", "seven", "it has to be a whole number of at most 64 bits"),
        ("type: integer", "9223372036854775808", "it has to be a whole number of at most 64 bits"),
        ("type: integer, maximum: 5", "6", "it has to be 5 or less, not 6"),
        ("type: number", "1,5", "it has to be a number"),
        ("type: boolean", "yes", 'it has to be "true" or "false"'),
        ("type: array", "{}", "it has to be a list, not a mapping"),
        ("type: object", "{", "it has to be the JSON text of an object"),
        ("enum: [a, b]", "c", 'it cannot be "c"'),
        ('pattern: "^[a-z]+$"', "A", 'it has to have the form "^[a-z]+$"'),
        ("minLength: 3", "ab", "it has to have 3 characters at least"),
    ],
)
def test_a_value_that_does_not_fit_its_declaration(folder: Path, declaration: str, value: str, problem: str) -> None:
    application = f"variables: {{ v: {{ env: V, {declaration} }} }}"

    assert findings(folder, 'data: "${{ variables.v }}"', application, V=value) == [
        f'8:12 VALUE_INVALID the value of "variables.v" does not fit: {problem}'
    ]


def test_a_secret_that_does_not_fit_is_not_shown(folder: Path) -> None:
    application = "secrets: { s: { env: S, minLength: 40 }, t: { env: T, enum: [x] } }"

    found = findings(folder, 'data: "${{ secrets.s + secrets.t }}"', application, S="hush-hush", T="tell-nobody")

    assert found == [
        '8:12 VALUE_INVALID the value of "secrets.s" does not fit: it has to have 40 characters at least',
        '8:24 VALUE_INVALID the value of "secrets.t" does not fit: it cannot be the value',
    ]


@pytest.mark.parametrize(
    ("step", "given", "expected"),
    [
        ('number: "${{ variables.a[0] }}"', {"A": "[[]]"}, '8:9 "number" has to be a whole number, not a list'),
        ('fails: "${{ secrets.s }}"', {"S": "secretly"}, '8:8 "fails" cannot be the value'),
        ('number: "${{ 1 / int(secrets.s) }}"', {"S": "0"}, "8:9 the expression has no value: divide by zero"),
        ('data: "${{ variables.a[5] }}"', {"A": "[]"}, "8:7 the expression has no value: Index error: index=5 size=0"),
        (
            'data: "${{ secrets.s.matches(secrets.r) }}"',
            {"S": "x", "R": "[hush-hush"},
            "8:7 the expression has no value: invalid regular expression: missing ]: ***",
        ),
    ],
)
def test_a_value_that_its_field_does_not_take_is_placed_there(
    folder: Path, step: str, given: dict[str, str], expected: str
) -> None:
    application = "variables: { a: { type: array, env: A } }" if "A" in given else ""

    found = findings(folder, step, application, **given)

    assert [each.replace("VALUE_INVALID ", "") for each in found] == [expected]


def test_dotenv_that_is_no_text_is_told(folder: Path) -> None:
    (folder / ".env").write_bytes(b"A=\xff\n")

    assert findings(folder, 'text: "${{ secrets.a }}"') == [
        '8:12 VALUE_MISSING "secrets.a" has no value (set A in the environment or in ".env", which is not UTF-8 text)'
    ]


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["sh", "-c", "echo not signed in >&2; exit 3"], 'the command "sh" ended with exit code 3: "not signed in"'),
        (["sh", "-c", r"printf '\377'"], 'the command "sh" printed what is not UTF-8 text'),
        (["./notes.md"], 'the command "./notes.md" did not run: permission denied'),
    ],
)
def test_a_command_that_gives_no_secret(folder: Path, command: list[str], problem: str) -> None:
    application = f"secrets: {{ s: {{ command: {json.dumps(command)} }} }}"

    assert findings(folder, 'text: "${{ secrets.s }}"', application) == [
        f'8:12 VALUE_INVALID the value of "secrets.s" does not fit: {problem}'
    ]


async def test_a_field_of_a_call_is_evaluated_at_each_call(folder: Path) -> None:
    path = folder / "set.yaml"
    step = """parameters: { properties: { star: { type: string }, nights: { type: integer } } }
call:
  look: "at ${{ arguments.star }} from the ${{ metadata.floor }}, ${{ secrets.key }}"
  nights: "${{ has(arguments.nights) ? arguments.nights : 1 }}"
  list: ["${{ arguments.star }}", fixed]"""
    path.write_text(HEAD.format(step=step, application=""))

    async with runtime.open_manifests(str(path), environment={"KEY": "${{ arguments.star }}"}) as live:
        first = live["Step"].evaluate(arguments={"star": "Vega", "nights": 2})
        second = live["Step"].evaluate(arguments={"star": "Deneb\0\ud800"})
        with pytest.raises(ToolError) as caught:
            live["Step"].evaluate(arguments={})

    assert first == {"look": "at Vega from the attic, ${{ arguments.star }}", "nights": 2, "list": ["Vega", "fixed"]}
    assert second["list"] == ["Deneb\0\ud800", "fixed"]
    assert second["nights"] == 1
    assert caught.value.code == "ERR_TOOL_EXPRESSION"
