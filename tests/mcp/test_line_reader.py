"""Lines out of bytes, in whatever pieces they come."""

import pytest

from runtime.mcp.stdio import FLOOD, LineReader

LIMIT = 50
DATA = b"one\n\ntwo " + b"x" * 30 + b"\n" + b"head" + b"y" * 500 + b"tail\nthree\n" + b"z" * LIMIT + b"\nunfinished"


class Taken:
    """What a reader gave."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.lost: list[tuple[bytes, bytes]] = []
        self.floods = 0
        self.reader = LineReader(LIMIT, self.lines.append, self.lose, self.flood, lambda: None)

    def lose(self, head: bytes, tail: bytes) -> None:
        self.lost.append((head, tail))

    def flood(self) -> None:
        self.floods += 1


@pytest.mark.parametrize("size", [1, 2, 7, 49, 64, 5000])
def test_lines_do_not_depend_on_the_pieces(size):
    taken = Taken()
    for at in range(0, len(DATA), size):
        taken.reader.data_received(DATA[at : at + size])

    assert taken.lines == [b"one", b"two " + b"x" * 30, b"three", b"z" * LIMIT]
    assert [head[:4] for head, _ in taken.lost] == [b"head", b"head"]
    assert [tail[-4:] for _, tail in taken.lost] == [b"", b"tail"]
    assert (taken.floods, taken.reader.received) == (0, len(DATA))


def test_a_line_without_end_is_a_flood():
    taken = Taken()
    for _ in range(FLOOD * LIMIT // 100 + 2):
        taken.reader.data_received(b"x" * 100)

    assert len(taken.lost) == 1
    assert taken.floods == 1
