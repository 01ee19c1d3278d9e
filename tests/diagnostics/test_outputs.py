"""The forms in which findings are printed, each as its readers want it."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft4Validator, FormatChecker
from servers.npm import NPM

from runtime.diagnostics import CODES, Diagnostic
from runtime.diagnostics.codes import Code
from runtime.diagnostics.credentials import starred
from runtime.diagnostics.github import as_github
from runtime.diagnostics.junit import as_junit
from runtime.diagnostics.render import as_data, as_text
from runtime.diagnostics.sarif import as_sarif
from runtime.diagnostics.wording import one_line

SARIF_SCHEMA = NPM / "node_modules" / "@microsoft" / "jest-sarif" / "lib" / "schemas" / "sarif-2.1.0-rtm.5.json"

FOUND = [
    Diagnostic("a b/set,1.yaml", 3, 8, "REF_UNRESOLVED", 'there is no "X": 100%', 'did you mean "Y"?', "Watch"),
    Diagnostic("a b/set,1.yaml", 9, 1, "RESOURCE_UNUSED", "nothing refers to it", None, "Spare"),
    Diagnostic("größe.yaml", 1, 1, "YAML_SYNTAX", "<&> ]]>"),
]


def test_every_code_has_a_severity_and_says_what_to_do() -> None:
    for name, code in CODES.items():
        assert isinstance(code, Code) and code.severity in ("error", "warning"), name
        assert code.summary[0].islower() and not code.summary.endswith("."), name
        assert not code.help[0].islower() and code.help.endswith("."), name


def test_text_shows_the_line_with_a_caret_under_the_place() -> None:
    lines = {("a b/set,1.yaml", 3): "model: !ref X", ("a b/set,1.yaml", 9): ""}

    assert list(as_text(FOUND, lines, colour=False)) == [
        'a b/set,1.yaml:3:8: error REF_UNRESOLVED there is no "X": 100%',
        "    model: !ref X",
        "           ^",
        '    hint: did you mean "Y"?',
        "a b/set,1.yaml:9:1: warning RESOURCE_UNUSED nothing refers to it",
        "größe.yaml:1:1: error YAML_SYNTAX <&> ]]>",
    ]


@pytest.mark.parametrize(
    ("line", "column", "shown", "caret"),
    [
        ("ab\tc", 4, "ab·c", 3),
        ("潮汐 x", 4, "潮汐 x", 5),
        ("e\u0301 x", 4, "e\u0301 x", 2),
        ("x" * 400 + "y", 401, "x" * 79 + "y", 79),
        ("a" * 300 + "b" + "c" * 300, 301, "a" * 79 + "b" + "c" * 80, 79),
        ("apiKey: sk-MADEup0MADEup0MADEup0MADEup0 }", 9, "apiKey: ******************************* }", 8),
    ],
)
def test_a_line_is_cut_and_shown_so_that_the_caret_stands_right(line: str, column: int, shown: str, caret: int) -> None:
    found = Diagnostic("m.yaml", 1, column, "YAML_SYNTAX", "here")

    _, excerpt, under = as_text([found], {("m.yaml", 1): line}, colour=False)

    assert (excerpt, under) == (f"    {shown}", f"    {' ' * caret}^")


def test_a_credential_is_starred_even_where_the_line_is_cut_in_it() -> None:
    line = "x" * 250 + " ghp_" + "MADEup0" * 6 + " " + "y" * 300

    for column in range(250, 310):
        text = "\n".join(
            as_text([Diagnostic("m.yaml", 1, column, "YAML_SYNTAX", "here")], {("m.yaml", 1): line}, colour=False)
        )
        assert "MADE" not in text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("a\nb\tc\x1b\u202e\xa0\ud800", "a\\nb\\tc\\x1b\\u202e\\xa0\\ud800"),
        ("x" * 600, "x" * 499 + "…"),
        ("key sk-MADEup0MADEup0MADEup0MADEup0", "key *******************************"),
    ],
)
def test_a_message_is_one_line_that_can_be_printed(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn-estimators-and-pipelines",
        "--sk-some-long-option-name-here",
        "risk-assessment",
        "ghp_short",
        "AKIA123",
        "eyJhbGci",
    ],
)
def test_what_only_looks_a_little_like_a_credential_is_none(text: str) -> None:
    assert starred(text) == text


def test_json_counts_errors_and_warnings() -> None:
    data = as_data(FOUND)

    assert (data["ok"], data["errors"], data["warnings"]) == (False, 2, 1)
    assert data["diagnostics"][1] == {
        "code": "RESOURCE_UNUSED",
        "severity": "warning",
        "file": "a b/set,1.yaml",
        "line": 9,
        "column": 1,
        "message": "nothing refers to it",
        "hint": None,
        "resource": "Spare",
    }


def test_github_commands_are_escaped() -> None:
    assert list(as_github(FOUND)) == [
        "::error file=a b/set%2C1.yaml,line=3,col=8,title=REF_UNRESOLVED::"
        'there is no "X": 100%25%0Ahint: did you mean "Y"?',
        "::warning file=a b/set%2C1.yaml,line=9,col=1,title=RESOURCE_UNUSED::nothing refers to it",
        "::error file=größe.yaml,line=1,col=1,title=YAML_SYNTAX::<&> ]]>",
    ]
    odd = Diagnostic("a:b\r\n.yaml", 1, 1, "YAML_SYNTAX", "a\r\n::error::b")
    assert list(as_github([odd])) == ["::error file=a%3Ab%0D%0A.yaml,line=1,col=1,title=YAML_SYNTAX::a%0D%0A::error::b"]


def test_junit_has_a_suite_for_each_file_and_a_case_for_each_resource() -> None:
    cases = [
        ("a b/set,1.yaml", "Ai.Agent", "Watch"),
        ("a b/set,1.yaml", "Ai.ScriptedModel", "Spare"),
        ("ok.yaml", "Ai.Agent", "Fine"),
    ]

    root = ElementTree.fromstring(as_junit(FOUND, cases))

    assert (root.tag, root.attrib) == ("testsuites", {"name": "runtime validate", "tests": "4", "failures": "2"})
    suites = {suite.get("name"): suite for suite in root}
    assert {name: (suite.get("tests"), suite.get("failures")) for name, suite in suites.items()} == {
        "a b/set,1.yaml": ("2", "1"),
        "ok.yaml": ("1", "0"),
        "größe.yaml": ("1", "1"),
    }
    watch, spare = suites["a b/set,1.yaml"]
    assert (watch.attrib, watch[0].attrib) == (
        {"classname": "Ai.Agent", "name": "Watch"},
        {"type": "REF_UNRESOLVED", "message": 'REF_UNRESOLVED: there is no "X": 100%'},
    )
    assert (watch[0].text or "").endswith('there is no "X": 100% (did you mean "Y"?)')
    assert (spare[0].tag, len(spare)) == ("system-out", 1)
    [broken] = suites["größe.yaml"]
    assert (broken.get("name"), broken[0].text) == ("größe.yaml", "größe.yaml:1:1: error YAML_SYNTAX <&> ]]>")


def test_sarif_has_a_rule_with_help_for_each_code() -> None:
    run = as_sarif(FOUND, "1.2.3")["runs"][0]

    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["REF_UNRESOLVED", "RESOURCE_UNUSED", "YAML_SYNTAX"]
    assert all(rule["help"]["text"] == CODES[rule["id"]].help for rule in rules)
    first = run["results"][0]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("REF_UNRESOLVED", 0, "error")
    assert first["message"]["text"] == 'there is no "X": 100%\ndid you mean "Y"?'
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "a%20b/set%2C1.yaml"},
                "region": {"startLine": 3, "startColumn": 8},
            },
            "logicalLocations": [{"name": "Watch", "kind": "resource"}],
        }
    ]
    assert run["columnKind"] == "unicodeCodePoints"


@pytest.mark.skipif(
    not SARIF_SCHEMA.is_file(), reason="the schema of SARIF is not in tests/npm: install npm, then run `make test`"
)
@pytest.mark.parametrize("found", [[], FOUND, [Diagnostic(str(Path("/abs/größe.yaml")), 1, 1, "NAME_MISSING", "x")]])
def test_sarif_fits_its_published_schema(found: list[Diagnostic]) -> None:
    schema: dict[str, Any] = json.loads(SARIF_SCHEMA.read_text(encoding="utf-8"))

    errors = Draft4Validator(schema, format_checker=FormatChecker()).iter_errors(as_sarif(found, "1.2.3"))

    assert [error.message for error in errors] == []
