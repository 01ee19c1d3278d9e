"""Server-sent events: the data of each, from the bytes of a response.

https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6; names and ids of events are not needed.
"""

from collections.abc import Iterator


class EventReader:
    """Takes bytes as they come and gives the data of each event that is complete."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        text = self._rest + chunk if self._rest else chunk
        if b"\r" in text:
            held = text.endswith(b"\r")  # the other half of a CR LF may be on its way
            text = text[:-1] if held else text
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + (b"\r" if held else b"")
        *lines, self._rest = text.split(b"\n")
        for line in lines:
            if not line:
                yield from self._dispatch()
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])

    def end(self) -> Iterator[bytes]:
        """The event that the response's end cut short: servers leave out the last empty line."""
        yield from self.feed(b"\n\n")

    def _dispatch(self) -> Iterator[bytes]:
        if self._data:
            yield self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            self._data.clear()
