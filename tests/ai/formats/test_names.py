"""Names: legal, deterministic, distinct, and never taken apart to find the way back."""

import re

from hypothesis import given
from hypothesis import strategies as st

from runtime.ai import Tool
from runtime.ai.formats import convert
from runtime.ai.formats.names import offer


def test_a_legal_name_stays_even_next_to_one_that_would_become_it() -> None:
    assert offer(["docs_search", "docs.search"]) == ["docs_search", "docs_search_a7e557a3"]


def test_names_that_would_become_the_same_are_told_apart_whatever_their_order() -> None:
    one, other = offer(["a.b", "a/b"])
    assert (one, other) == ("a_b_2e7336dc", "a_b_c14cddc0")
    assert offer(["a/b", "a.b"]) == [other, one]


def test_long_names_are_cut_with_a_digest_of_the_whole() -> None:
    names = ["x" * 64 + "a", "x" * 64 + "b", "x" * 64]
    offered = offer(names)
    assert [len(name) for name in offered] == [64, 64, 64]
    assert len(set(offered)) == 3
    assert offered[2] == names[2]


def test_first_character_is_a_letter_or_an_underscore() -> None:
    assert offer(["3d", "-x", "", "é té", "💥"]) == ["_3d", "_-x", "__e3b0c442", "e_te", "__0fadd2ce"]


@given(st.lists(st.text(max_size=80), unique=True, max_size=8))
def test_offered_names_are_legal_distinct_and_independent_of_the_order(names: list[str]) -> None:
    offered = offer(names)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name) for name in offered)
    assert len(set(offered)) == len(names)
    assert dict(zip(names[::-1], offer(names[::-1]), strict=True)) == dict(zip(names, offered, strict=True))


def test_the_table_leads_back_to_the_tool() -> None:
    dotted, plain = Tool("docs.search", "", {}), Tool("docs_search", "", {})
    converted = convert([dotted, plain], "openai")
    assert converted.restore("docs_search", {"q": 1}) == (plain, {"q": 1})
    assert converted.restore("docs_search_a7e557a3", {}) == (dotted, {})
    assert converted.mapping == [{"name": "docs_search_a7e557a3", "tool": "docs.search", "renames": []}]
