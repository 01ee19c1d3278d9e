"""Text of foreign origin on its way to people and models."""

import pytest

from runtime.mcp.quoting import mask_value, quote_line, quote_lines, remove_hidden


@pytest.mark.parametrize(
    "text, line",
    [
        ("plain", "plain"),
        ("two\nlines\r\nand\ttabs", "two lines and tabs"),
        ("\x1b[31mred\x1b[0m\x07\x9b", "[31mred [0m"),
        ("a\u202eb\u200bc\U000e0041d", "a b c d"),
        ("x" * 400, "x" * 300 + "…"),
    ],
)
def test_a_line_is_one_line_without_controls(text, line):
    assert quote_line(text) == line


def test_the_last_lines_are_kept():
    assert quote_lines("a\n\n b \x1b\nc\n", 2) == ["b", "c"]


def test_hidden_characters_are_removed_and_letters_stay():
    woman = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}"

    assert remove_hidden(f"a\x1b[1m\r\n\tb\u202e\U000e0041\u200b {woman} é") == f"a[1m\n\tb {woman} é"


def test_every_text_of_a_value_is_masked():
    value = {"key s": ["s", {"a": "s", "n": 1}], "n": None}

    assert mask_value(value, lambda text: text.replace("s", "*")) == {"key *": ["*", {"a": "*", "n": 1}], "n": None}
