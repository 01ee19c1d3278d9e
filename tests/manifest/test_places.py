"""Where a character of a value stands in the text, however the scalar is written."""

import re

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from runtime.manifest import Expression, Source, load
from runtime.manifest.places import places_in

BLANKS = " \t\r\n"
STYLES = st.sampled_from([None, "'", '"', "|", ">"])
TEXTS = st.text("ab:#'\"\\[]{},&*!?-%@\n\t ", max_size=60)


def read(text: str) -> tuple[Expression, Source]:
    """The one expression of a manifest."""
    source = Source("m.yaml", text.encode(), ".")
    loaded = load(source)
    assert loaded.diagnostics == []
    [document] = loaded.documents
    [expression] = document.expressions
    return expression, source


def shown(text: str) -> str:
    """The value with each character replaced by the one that stands at its place."""
    expression, source = read(text)
    return "".join(source.text[place] for place in places_in(expression, source)[:-1])


def blanked(text: str) -> str:
    """Blanks are all one: a line end of the text is a blank of a folded value."""
    return re.sub(r"[ \t\r\n]", " ", text)


@given(value=TEXTS.map("${{{{ {} }}}}".format), style=STYLES, width=st.integers(5, 40), depth=st.integers(0, 2))
@example(value="${{  'a' }}\n\n\n b", style=">", width=10, depth=1)
@example(value="${{ a }}  \n b", style='"', width=10, depth=0)
def test_each_character_stands_at_its_place(value: str, style: str | None, width: int, depth: int) -> None:
    document: object = {"key": value}
    for _ in range(depth):
        document = {"above": [document]}
    text = yaml.safe_dump(document, default_style=style, width=width)  # what an emitter writes, in every style
    assume("${{" in str(yaml.safe_load(text)))  # it does not always write what it was given

    expression, source = read(text)

    places = places_in(expression, source)
    assert len(places) == len(expression) + 1
    assert places == sorted(places)
    for character, place in zip(expression, places[:-1], strict=True):
        there = source.text[place]
        is_blank = character in BLANKS and there in BLANKS
        assert there == character or is_blank or (there == "\\" and expression.style == '"'), (character, place, text)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "text",
    [
        "key: ${{ a }} and\n  b\n\n  c\n",
        "key: 'it''s ${{ a }}\n  b\n\n\n  c'\n",
        'key: "${{ a }} \\\n    b\n\n  c"\n',
        'key: "${{ a }}\\\n\n    b"\n',
        "key: |\n  ${{ a }}\n    b\n\n  c\n",
        "key: |2\n    ${{ a }}\n  b\n",
        "key: |\n\n\n  ${{ a }}\n  b\n",
        "key: |+ # a comment\n  ${{ a }}\n\n\n",
        "key: >\n  ${{ a }}\n  b\n\n  c\n    d\n  e\n",
        "key: >-\n\n\n  ${{ a }}\n  b",
        "above:\n  - key: |1\n      ${{ a }}\n     b\n",
        "key: &anchor !!str |\n  ${{ a }}\n",
        "key: !cel |\n  a\n    + b\n",
        "key: !cel # a comment\n  a\n",
    ],
)
def test_places_of_scalars_over_several_lines(text: str, line_end: str) -> None:
    written = text.replace("\n", line_end)

    expression, _ = read(written)

    assert blanked(shown(written)) == blanked(str(expression))


@pytest.mark.parametrize(
    ("text", "name", "column"),
    [
        (r'key: "\x24{{ \u0061\U00000062 c }}"', "c", 31),
        (r'key: "\t\\\"\/\e${{ c }}"', "c", 21),
        ("key: '''${{ c }}'", "c", 13),
        ("key: '🌊 ${{ c }}'", "c", 13),
        ('key: "\\N${{ c }}"', "c", 13),
    ],
)
def test_escapes_take_the_columns_that_they_have(text: str, name: str, column: int) -> None:
    expression, source = read(text)

    place = places_in(expression, source)[expression.index(name)]

    assert source.position(place) == (1, column)


def test_behind_the_last_character_is_the_place_after_it() -> None:
    expression, source = read("key: 'a ${{ b }}'")

    assert places_in(expression, source)[-1] == len("key: 'a ${{ b }}")
