"""The outline of a document: on what YAML takes the same as the loader, and something useful on everything else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.lsp.cursor import find_cursor, tokens
from runtime.lsp.documents import is_manifest, split_documents
from runtime.lsp.outline import read_outline
from runtime.lsp.tree import Fields, Items, Outline, Scalar
from runtime.manifest import Mapping, Sequence, Source, load

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("manifests", "tests/golden/valid", "tests/golden/invalid")
NOT_IN_TEXT = ("<<:", "!ref [")
"""What a merge key brings in stands elsewhere, and a list that is no name is one to the loader alone."""


def readable() -> Iterator[Path]:
    """The manifests that YAML takes."""
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.yaml"))):
        source = Source(path.name, path.read_bytes(), ".")
        if not load(source).diagnostics and not any(each in source.text for each in NOT_IN_TEXT):
            yield path


def seen(value: Outline | None, start: int, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, Fields):
        for entry in value.entries:
            yield (*path, entry.key.text, "key", entry.key.start + start)
            yield from seen(entry.value, start, (*path, entry.key.text))
    elif isinstance(value, Items):
        for place, item in enumerate(value.items):
            yield from seen(item, start, (*path, place))
    elif value is not None:
        yield (*path, value.place + start)


def loaded(value: Any, place: int, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            key_place, value_place = value.places[key]
            yield (*path, key, "key", key_place)
            if key_place != value_place:
                yield from loaded(item, value_place, (*path, key))
    elif isinstance(value, Sequence):
        for index, item in enumerate(value):
            yield from loaded(item, value.places[index], (*path, index))
    else:
        yield (*path, place)


@pytest.mark.parametrize("path", list(readable()), ids=lambda path: path.stem)
def test_the_outline_has_the_places_that_the_loader_has(path: Path) -> None:
    source = Source(path.name, path.read_bytes(), ".")

    outlines = [
        list(seen(document.outline, document.start))
        for document in split_documents(source.text)
        if document.outline.entries
    ]

    assert outlines == [list(loaded(document.body, document.body.start)) for document in load(source).documents]


@pytest.mark.parametrize(
    ("text", "path", "token", "is_key"),
    [
        ("|", (), "", True),
        ("ki|", (), "ki", True),
        ("kind: |", ("kind",), "", False),
        ("kind: Mc|p.X\nmetadata: { name: A }", ("kind",), "Mcp.X", False),
        ("kind: A.B\nmetadata: { | }\n", ("metadata",), "", True),
        ("kind: A.B\n|\ncommand: x", (), "", True),
        ("kind: A.B\r\n|\r\ncommand: x", (), "", True),
        ("kind: A.B\ncom|\nargs: [", (), "com", True),
        ("a:\n  |", ("a",), "", False),
        ("a:\n  |\n  b: 1", ("a",), "", True),
        ("a:\n  b: 1\n  |\nc: 1", ("a",), "", True),
        ("a:\n  - |", ("a", 0), "", False),
        ("a:\n- |", ("a", 0), "", False),
        ("a:\n  - b\n  - |\n  - c", ("a", 1), "", False),
        ("a:\n  - b: !ref X\n    |", ("a", 0), "", True),
        ("a:\n  - b: !ref X\n    c|\n  - b: !ref Y", ("a", 0), "c", True),
        ("a: [{ b: !ref |", ("a", 0, "b"), "", False),
        ("a: [{ b: !ref |\nc: 3\n", ("a", 0, "b"), "", False),
        ("a: { b: 1, |\nc: 3\n", ("a",), "", True),
        ("a: [x, y|]", ("a", 1), "y", False),
        ("a: !ref |", ("a",), "", False),
        ("a: !ref |\nb: 1", ("a",), "", False),
        ("a: !ref X|y", ("a",), "Xy", False),
        ('a: "open |\nb: 1', ("a",), "open ", False),
        ("a: 'b\nc: |", ("c",), "", False),
        ("a: *x\n&y b: |", ("b",), "", False),
        ("---\nkind: X\n---\n# note\n|\n", (), "", True),
        ("\tkind: |", ("kind",), "", False),
    ],
)
def test_the_cursor_is_found_in_what_is_no_yaml(text: str, path: tuple[Any, ...], token: str, is_key: bool) -> None:
    index = text.index("|")

    cursor = find_cursor(text.replace("|", "", 1), index)

    assert cursor is not None
    assert (cursor.path, cursor.token.text, cursor.is_key) == (path, token, is_key)


@pytest.mark.parametrize("text", ["a: 1 # |", "# |", "a: { b: 1 } |", "... |"])
def test_where_nothing_can_stand_there_is_no_cursor(text: str) -> None:
    assert find_cursor(text.replace("|", ""), text.index("|")) is None


def test_every_other_document_is_as_it_was_beside_a_broken_one() -> None:
    text = "kind: A.B\nmetadata: { name: One }\nbroken: [\n---\nkind: A.C\nmetadata: { name: Two }\nclient: !ref One\n"

    first, second = split_documents(text)

    assert (first.name.text if first.name else "", second.name.text if second.name else "") == ("One", "Two")
    references = [token for _, token, _, _ in tokens(second.outline, ()) if token.tag == "!ref"]
    assert [(each.text, text[second.start + each.start :]) for each in references] == [("One", "One\n")]


LINES = st.lists(
    st.tuples(
        st.integers(0, 4).map(lambda depth: "  " * depth),
        st.sampled_from(["", "- ", "a: ", "- a: ", "? ", "&x ", "!ref "]),
        st.sampled_from(
            ["", "b", "[", "{ c: ", "]", "}", '"', "'", "|", ">-", "!ref Name", "*x", "# c", ": ", ",", "\t"]
        ),
    ).map("".join),
    max_size=12,
)


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(0, 200))
def test_nothing_that_is_typed_stops_it(lines: list[str], line_end: str, index: int) -> None:
    text = line_end.join(lines)

    cursor = find_cursor(text, min(index, len(text)))

    assert cursor is None or 0 <= cursor.start <= cursor.end <= len(text)


@pytest.mark.parametrize(
    "text", ["[" * 50_000, "{a: " * 50_000, "- " * 50_000, '"' * 50_001, "'a\n" * 20_000, "a:\n- \n" * 20_000]
)
def test_a_hostile_text_is_read_to_its_end(text: str) -> None:
    assert isinstance(read_outline(text), Fields)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: Ai.Agent\n", True),
        ("# note\n---\nkind:\n", True),
        ("--- {kind: Ai.Agent}\n", True),
        ("metadata: { name: A }\n", True),
        ("services:\n  web:\n    kind: x\n", False),
        ("services: {}\n", False),
        ("apiVersion: v1\nkind: Pod\n", False),
        ("", False),
    ],
)
def test_a_manifest_is_told_from_other_yaml(text: str, expected: bool) -> None:
    assert is_manifest(text) is expected


def test_a_scalar_knows_its_tag_and_its_own_text() -> None:
    scalar = read_outline('client: !ref "Files"  # the one\n').get("client")

    assert isinstance(scalar, Scalar)
    assert (scalar.tag, scalar.text, scalar.place, scalar.start, scalar.end) == ("!ref", "Files", 8, 13, 20)
