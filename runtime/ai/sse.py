"""Server-sent events: the data of each, from the bytes of a response.

https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6; names and ids of events are not needed.
"""

from collections.abc import Iterator

LONGEST = 16 << 20
"""Bytes of one event."""


class TooLong(ValueError):
    """More than `LONGEST` bytes in one event."""


class EventReader:
    """Takes bytes as they come and gives the data of each event that is complete."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of a line that has no end yet
        self._data: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of the events that end in this chunk; raises `TooLong`."""
        self.count(chunk)
        if b"\n" not in chunk and b"\r" not in chunk and not (self._pieces and self._pieces[-1].endswith(b"\r")):
            self._pieces.append(chunk)
            return
        text = b"".join((*self._pieces, chunk))
        if b"\r" in text:
            held = text.endswith(b"\r")  # the other half of a CR LF may be on its way
            text = text[:-1] if held else text
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + (b"\r" if held else b"")
        *lines, rest = text.split(b"\n")
        self._pieces = [rest] if rest else []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line:
                self._length = len(rest)
                if self._data:
                    yield self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                    self._data = []

    def count(self, chunk: bytes) -> None:
        """Count bytes of an event; raises `TooLong`."""
        self._length += len(chunk)
        if self._length > LONGEST:
            raise TooLong(f"it has more than {LONGEST} bytes in one piece")

    def end(self) -> Iterator[bytes]:
        """The event that the response's end cut short: servers leave out the last empty line."""
        yield from self.feed(b"\n\n")
