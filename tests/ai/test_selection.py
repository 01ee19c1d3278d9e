"""`include` and `exclude`: bare names, globs, and what fits nothing."""

from typing import NamedTuple

import pytest

from runtime.ai.selection import find_idle, hint_at_names, select


class Named(NamedTuple):
    name: str


TOOLS = [Named(name) for name in ("read_file", "read_dir", "write_file", "a[1]")]


@pytest.mark.parametrize(
    ("include", "exclude", "selected"),
    [
        (None, [], ["read_file", "read_dir", "write_file", "a[1]"]),
        (["write_file", "read_file"], [], ["read_file", "write_file"]),
        (["read_*", "a[1]"], ["*_dir"], ["read_file", "a[1]"]),
        ([], [], []),
        (["READ_FILE", "read"], [], []),
    ],
)
def test_tools_are_selected_by_name_or_glob_in_their_own_order(
    include: list[str] | None, exclude: list[str], selected: list[str]
) -> None:
    assert [tool.name for tool in select(TOOLS, include, exclude)] == selected


def test_entries_that_fit_no_name_are_idle() -> None:
    names = [tool.name for tool in TOOLS]

    assert find_idle(["read_file", "move", "*_dir", "x*", "a[1]", "[!a-z]*"], names) == ["move", "x*", "[!a-z]*"]


def test_the_hint_lists_some_of_many_names() -> None:
    hint = hint_at_names(["fs_x"], "fs_", [f"t{number:02}" for number in range(53)])

    assert hint.startswith('filters take bare names, without the prefix "fs_"; the provider lists: t00, t01, ')
    assert hint.endswith("t49 and 3 more")
