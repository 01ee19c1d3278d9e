"""Text to documents: YAML 1.2's scalars, places, merge keys, and what a text that cannot be read may declare."""

import math
from typing import Any

import pytest

from runtime.errors import UsageError
from runtime.manifest import Broken, Expression, Include, Mapping, Ref, Source, load, read_sources
from runtime.manifest.loaded import Loaded


def loaded(text: str | bytes) -> Loaded:
    return load(Source("m.yaml", text if isinstance(text, bytes) else text.encode(), "."))


def body(text: str) -> Mapping:
    found = loaded(text)
    assert found.diagnostics == []
    return found.documents[0].body


def findings(text: str | bytes) -> list[str]:
    return [f"{found.line}:{found.column} {found.code}" for found in loaded(text).diagnostics]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("yes", "yes"), ("No", "No"), ("on", "on"), ("OFF", "OFF"), ("y", "y"), ("n", "n")),
        *(("true", True), ("True", True), ("TRUE", True), ("tRUE", "tRUE"), ("false", False)),
        *(("null", None), ("Null", None), ("~", None), ("", None), ("nULL", "nULL"), ("~x", "~x")),
        *(("0777", 777), ("0o17", 15), ("0x1F", 31), ("0b11", "0b11"), ("0o8", "0o8"), ("-0x1", "-0x1"), ("+12", 12)),
        *(("1_000", "1_000"), ("1:30", "1:30"), ("12:30:45", "12:30:45"), ("2026-11-30", "2026-11-30")),
        *(("1.5", 1.5), ("1.", 1.0), (".5", 0.5), ("-.5e-3", -0.0005), ("1e3", 1000.0), ("1e", "1e"), (".", ".")),
        *((".inf", math.inf), ("-.INF", -math.inf), (".Inf", math.inf), ("+.inf", math.inf), (".iNF", ".iNF")),
        *(("1.0.0", "1.0.0"), ("-", None), ("=", "="), ("1e400", math.inf), ("9" * 5000, "9" * 5000)),
        *(('"5"', "5"), ("'true'", "true"), ("!!str 5", "5"), ('!!int "5"', 5), ("!!float 1", 1.0), ("! 5", "5")),
        *(('!!bool "true"', True), ('!!null ""', None), ("!!str", ""), ("!!int 0x10", 16)),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, value: Any) -> None:
    found = body(f"key: {text}\n")["key"] if text != "-" else None

    assert (found, type(found)) == (value, type(value))


def test_not_a_number() -> None:
    assert math.isnan(body("key: .NaN\n")["key"])


def test_tags_of_ours_are_values_of_their_own() -> None:
    found = body("a: !ref Name\nb: !cel x + 1\nc: !include-text notes.md\nd: before ${{ x }}\n")

    assert [type(value) for value in found.values()] == [Ref, Expression, Include, Expression]
    assert (found["a"].name, found["b"], found["b"].is_tagged, found["c"], found["d"].is_tagged) == (
        "Name",
        "x + 1",
        True,
        "notes.md",
        False,
    )


def test_places_are_those_of_keys_and_values_and_of_the_aliased_part() -> None:
    text = "a: &part [1, two]\nb: *part\nc: { <<: &base { d: 5 }, e: }\nf: !!str &g x\n"
    found = body(text)

    assert found.places == {"a": (0, 3), "b": (18, 3), "c": (27, 30), "f": (57, 60)}
    assert found["a"].places == [10, 13]
    assert found["c"].places == {"e": (52, 52), "d": (44, 47)}
    assert found.start == 0 and found["c"].start == 30


def test_merge_keys_give_way_to_own_keys_and_to_earlier_ones() -> None:
    found = body("x: &x { a: 1, b: 1 }\ny: &y { b: 2, c: 2 }\nz: { c: 3, <<: [*x, *y], d: 3 }\nw: { <<: *y, <<<: 1 }\n")

    assert found["z"] == {"c": 3, "d": 3, "a": 1, "b": 1}
    assert found["w"] == {"<<<": 1, "b": 2, "c": 2}
    assert body('q: { "<<": { a: 1 } }\n')["q"] == {"<<": {"a": 1}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: { <<: 5 }\n", ["1:10 SCHEMA_TYPE"]),
        ("a: { <<: [{ b: 1 }, 5, x] }\n", ["1:21 SCHEMA_TYPE", "1:24 SCHEMA_TYPE"]),
        ("a:\n  <<:\n  b: 1\n", ["2:3 SCHEMA_TYPE"]),
        ("a: { <<: !ref B }\n", ["1:10 REF_MISPLACED"]),
        ('a: { <<: "${{ b }}" }\n', ["1:10 CEL_MISPLACED"]),
        ("a: { <<: { b: 1 }, <<: { c: 1 } }\n", ["1:20 YAML_DUPLICATE_KEY"]),
        ("a: { b: 1, 'b': 2, !!str b: 3 }\n", ["1:12 YAML_DUPLICATE_KEY", "1:20 YAML_DUPLICATE_KEY"]),
        ("a: { 1: x, '1': y, 0x1: z, true: p, 'true': q }\n", ["1:12 YAML_DUPLICATE_KEY", "1:37 YAML_DUPLICATE_KEY"]),
        ("a: { [b]: 1 }\n", ["1:6 YAML_SYNTAX"]),
        ("a: { !foo b: 1, !!binary c: 2 }\n", ["1:6 YAML_UNKNOWN_TAG", "1:17 YAML_UNKNOWN_TAG"]),
        ('a: { "${{ b }}": 1 }\n', ["1:6 CEL_MISPLACED"]),
        ("a: !foo { b: !bar c, b: 2 }\n", ["1:4 YAML_UNKNOWN_TAG"]),
        (
            "a: !!seq { b: 1 }\nb: !!map [1]\nc: !!str [1]\nd: !!map x\ne: !!int x\n",
            [f"{n}:4 YAML_SYNTAX" for n in range(1, 6)],
        ),
        ("a: !!timestamp 2026-01-01\nb: !!set { x: ~ }\n", ["1:4 YAML_UNKNOWN_TAG", "2:4 YAML_UNKNOWN_TAG"]),
        ("%TAG ! tag:example.org,2026:\n---\na: !ref B\n", ["3:4 YAML_UNKNOWN_TAG"]),
        ("a: *nobody\n", ["1:4 YAML_SYNTAX"]),
        ("a: &x 1\n---\na: *x\n", ["3:4 YAML_SYNTAX"]),
        (
            "~\n---\n''\n---\n!ref X\n---\n!!str\n---\n&a\n---\n[]\n",
            [f"{n}:1 DOCUMENT_NOT_MAPPING" for n in (1, 3, 5, 7, 11)],
        ),
        ("---\n---\n# nothing\n...\n", []),
        (b"a: caf\xe9\n---\nb: \xff\n", ["1:7 YAML_SYNTAX", "3:4 YAML_SYNTAX"]),
        ("a: \x07\n---\nb: \x7f\n---\nc: \ufeff\n", ["1:4 YAML_SYNTAX", "3:4 YAML_SYNTAX", "5:4 YAML_SYNTAX"]),
    ],
)
def test_what_a_text_may_not_have(text: str | bytes, expected: list[str]) -> None:
    assert findings(text) == expected


def test_a_value_of_which_all_was_said_is_broken() -> None:
    found = loaded("a: !foo b\nc: !!int d\ne: [!bar {}]\n")

    assert [type(value) for value in found.documents[0].body.values()][:2] == [Broken, Broken]
    assert type(found.documents[0].body["e"][0]) is Broken


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_end_with_lf_cr_lf_and_cr_and_with_nothing_else(line_end: str) -> None:
    text = (
        f"a: 1 # x\u2028y: 2{line_end}b: |{line_end}  one\x85two\u2029{line_end}c: 'x\u2028z'{line_end}d: *e{line_end}"
    )

    found = loaded("\ufeff" + text)

    assert [(each.line, each.column) for each in found.diagnostics] == [(5, 4)]
    kept = loaded(text.replace("*e", "e")).documents[0].body
    assert dict(kept) == {"a": 1, "b": "one\x85two\u2029\n", "c": "x\u2028z", "d": "e"}


def test_names_that_a_document_which_cannot_be_read_may_declare() -> None:
    found = loaded("kind: X\nmetadata: { name: Lost\n---\nkind: Y\nmetadata: { name: Kept }\n")

    assert (found.lost_names, len(found.documents), found.lost_keys) == ({"Lost"}, 1, set())


def test_keys_that_an_application_which_cannot_be_read_may_declare() -> None:
    found = loaded("kind: Runtime.Application\nvariables: { a: {}, 'b': {} \n---\nkind: Y\n")

    assert {"variables", "a", "b"} <= found.lost_keys


def test_reading_goes_on_behind_each_document_that_cannot_be_read() -> None:
    text = "a: [\n---\nb: 1\n---\nc: 'x\n---\nd: 1\n---\ne: \x07\n---\nf: 1\n"

    found = loaded(text)

    assert [list(document.body) for document in found.documents] == [["b"], ["d"], ["f"]]
    assert [each.line for each in found.diagnostics] == [2, 6, 9]


def test_a_source_tells_lines_and_columns() -> None:
    source = Source("m.yaml", "\ufeffé\r\nb\n\nc".encode(), ".")

    assert [source.position(index) for index in range(len(source.text) + 1)] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 1),
        (2, 2),
        (3, 1),
        (4, 1),
        (4, 2),
    ]
    assert [source.line(number) for number in (1, 2, 3, 4)] == ["é", "b", "", "c"]


def test_a_source_that_is_not_there(tmp_path: Any) -> None:
    for path, message in ((str(tmp_path / "x.yaml"), "no such file or folder"), (str(tmp_path), "no *.yaml or *.yml")):
        with pytest.raises(UsageError) as caught:
            read_sources([path])
        assert caught.value.message.startswith(message)
