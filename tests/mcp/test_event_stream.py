"""Server-sent events, in whatever pieces they come."""

import pytest

from runtime.mcp.event_stream import Event, EventReader, TooLarge

STREAM = (
    b"\xef\xbb\xbf: a comment\n\nevent: message\ndata: one\ndata:two\nid: 1\nunknown: x\n\n"
    b"data: cr\r\rdata: crlf\r\n\r\nretry: 50\nretry: x\n\nid: 2\n\ndata\n\ndata: cut off"
)
EVENTS = [
    Event("message", b"one\ntwo", "1", None),
    Event("message", b"cr", "1", None),
    Event("message", b"crlf", "1", None),
    Event("message", b"", "1", 50),
    Event("message", b"", "2", None),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_do_not_depend_on_the_pieces(size):
    reader = EventReader(1000)
    events = [event for at in range(0, len(STREAM), size) for event in reader.feed(STREAM[at : at + size])]

    assert events == EVENTS


def test_an_event_over_the_limit_is_refused_while_it_comes():
    reader = EventReader(100)
    reader.feed(b"data: " + b"x" * 50 + b"\n")
    with pytest.raises(TooLarge):
        reader.feed(b"data: " + b"x" * 50)


def test_comments_without_end_do_not_add_up():
    reader = EventReader(100)

    assert [event for _ in range(1000) for event in reader.feed(b": still here\n")] == []
