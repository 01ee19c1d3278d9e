"""Server-sent events out of bytes, in linear time and bounded memory (WHATWG HTML, section 9.2)."""

from msgspec import Struct


class TooLarge(Exception):
    """One event is over the limit."""


class Event(Struct):
    """One event: its name, its data, the id to resume after it, the pause in ms that the server asks for."""

    name: str
    data: bytes
    id: str
    retry: int | None


class EventReader:
    """Feed it chunks; it gives back the events that are complete."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._line: list[bytes] = []
        self._size = 0  # bytes held for the event that is being read
        self._has_return = False  # the last chunk ended with a carriage return: a newline may belong to it
        self._data: list[bytes] = []
        self._name = ""
        self._id = ""
        self._retry: int | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes; raises `TooLarge`."""
        if self._has_return:
            chunk = b"\r" + chunk
        self._has_return = chunk.endswith(b"\r")
        if self._has_return:
            chunk = chunk[:-1]
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *lines = chunk.split(b"\n")
        self._keep(first)
        events: list[Event] = []
        for line in lines:
            if event := self._take_line(b"".join(self._line)):
                events.append(event)
            self._line.clear()
            self._keep(line)
        return events

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._line.append(piece)
            self._size += len(piece)
            if self._size > self.limit:
                raise TooLarge

    def _take_line(self, line: bytes) -> Event | None:
        if not line:
            return self._end_event()
        field, _, value = line.partition(b":")
        if value.startswith(b" "):
            value = value[1:]
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) < 10:
            self._retry = int(value)
        else:
            self._size -= len(line)  # a comment, or a field nobody knows: nothing is kept of it
        return None

    def _end_event(self) -> Event | None:
        event = Event(self._name or "message", b"\n".join(self._data), self._id, self._retry)
        is_empty = not self._data and not self._name and self._retry is None
        self._data.clear()
        self._name, self._retry, self._size = "", None, 0
        return None if is_empty else event
