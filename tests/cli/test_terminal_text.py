"""Text of foreign origin on a terminal."""

import unicodedata

from runtime.cli.terminal_text import disarm, reveal, reveal_json

FAMILY = "👩\u200d👧"


def test_prose_keeps_its_letters_and_lines_and_loses_what_acts() -> None:
    assert disarm("plain") == "plain"
    assert disarm("a\tb\r\nc\n") == "a\tb\nc\n"
    assert disarm(f"Grüße, 世界 {FAMILY} ❤\ufe0f") == f"Grüße, 世界 {FAMILY} ❤\ufe0f"
    assert disarm("a\x1b[2Jb\x07\x7f\x9b31m\u202ec\u2066") == "a\\x1b[2Jb\\x07\\x7f\\x9b31m\\u202ec\\u2066"
    assert disarm("over\rwritten") == "overwritten"


def test_what_has_to_be_judged_shows_every_character() -> None:
    codes = (*range(0x3100), 0xD800, 0xE000, 0xFEFF, *range(0xFFF9, 0x10000), 0x1D173, *range(0xE0000, 0xE0080))
    hidden = [char for char in map(chr, codes) if unicodedata.category(char)[0] in "CZ" and char not in "\n "]

    assert reveal("Grüße, 世界\n") == "Grüße, 世界\n"
    assert [char for char in hidden if reveal(char) == char] == []
    assert reveal("a\u200db\ufe0f\U000e0041\U000e0100") == "a\\u200db\\ufe0f\\U000e0041\\U000e0100"


def test_json_is_shown_whole_with_every_character_visible() -> None:
    assert reveal_json({"a": "x\ny\u202e", "b": [1]}) == '{\n  "a": "x\\ny\\u202e",\n  "b": [\n    1\n  ]\n}'
