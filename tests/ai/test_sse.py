"""Server-sent events, however their bytes are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.ai.sse import LONGEST, EventReader, TooLong

LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=8)


@given(
    st.lists(st.lists(LINE, min_size=1, max_size=3), max_size=4),
    st.lists(st.sampled_from([": comment", "event: x", "id: 1", "retry: 5", "unknown", "dat", "data"]), max_size=3),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
    st.booleans(),
)
def test_events_are_read_whole(
    events: list[list[str]], noise: list[str], newline: str, sizes: list[int], is_ended: bool
) -> None:
    blocks = [[*noise, *(f"data: {line}" for line in lines)] for lines in events]
    text = "".join(newline.join((*block, "", "")) for block in blocks)
    stream = (text if is_ended else text.removesuffix(newline)).encode()
    reader = EventReader()
    found = []
    start = place = 0
    while start < len(stream):
        size = sizes[place % len(sizes)]
        found += list(reader.feed(stream[start : start + size]))
        start, place = start + size, place + 1
    found += list(reader.end())

    assert found == ["\n".join(lines).encode() for lines in events]


def test_event_is_given_as_soon_as_it_is_complete() -> None:
    reader = EventReader()

    assert list(reader.feed(b"data: a\n")) == []
    assert list(reader.feed(b"\ndata: b\n\nda")) == [b"a", b"b"]
    assert list(reader.end()) == []


def test_event_that_grows_without_end_is_refused() -> None:
    reader = EventReader()
    with pytest.raises(TooLong):
        for _ in range(LONGEST // (1 << 20) + 1):
            list(reader.feed(b"x" * (1 << 20)))


def test_events_together_may_be_of_any_size() -> None:
    reader = EventReader()
    event = b"data: " + b"x" * (1 << 20) + b"\n\n"

    assert sum(len(list(reader.feed(event))) for _ in range(20)) == 20
