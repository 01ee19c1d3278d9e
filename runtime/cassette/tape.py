"""A recording that is being made: exchanges as they begin and end, masked, and put into an order that is the same each
time."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.cassette.borders import MODEL, Border
from runtime.cassette.contents import Exchange, Recording, ToolList
from runtime.cassette.masking import mask_value
from runtime.cassette.spelling import join_pieces, spell_error
from runtime.errors import Error
from runtime.masking import Masker, StreamMasker


class Entry:
    """An exchange under way; `began` and `ended` are ticks of the tape's own clock."""

    def __init__(self, tape: "Tape", request: dict[str, Any]) -> None:
        self._tape = tape
        masked = mask_value(request, tape.masker)
        self.exchange = Exchange(masked, {}, masked != request)
        self.began = tape.tick()
        self.ended = 0

    def end(self, answer: Mapping[str, Any], pieces: Sequence[str] = ()) -> None:
        """What came; `pieces` are the text of a model. Only the first end counts."""
        if not self.ended:
            said = join_pieces(mask_pieces(pieces, self._tape.masker))
            self.exchange.answer = {**said, **mask_value(answer, self._tape.masker)}
            self.ended = self._tape.tick()

    def fail(self, error: Error, pieces: Sequence[str] = ()) -> None:
        self.end({"error": spell_error(error)}, pieces)

    def cancel(self, pieces: Sequence[str] = ()) -> None:
        """Whoever asked does not wait any more."""
        self.end({"cancelled": True}, pieces)


class Tape:
    """What goes on with one resource."""

    def __init__(self, border: Border, masker: Masker) -> None:
        self.masker = masker
        self.facts: dict[str, Any] = {}
        self._border = border
        self._entries: list[Entry] = []
        self._lists: list[ToolList] = []
        self._clock = 0

    def tick(self) -> int:
        self._clock += 1
        return self._clock

    def begin(self, request: dict[str, Any]) -> Entry:
        entry = Entry(self, request)
        self._entries.append(entry)
        return entry

    def add_list(self, tools: Sequence[Any]) -> None:
        """The tools were listed, and are others than last time."""
        over = sum(bool(entry.ended) for entry in self._entries)
        self._lists.append(ToolList(over, mask_value(tools, self.masker)))

    def finish(self, ignore: Sequence[str]) -> Recording:
        """The recording; what has no end, because of a fault of ours, is left out."""
        ended = [entry for entry in self._entries if entry.ended]
        exchanges = [entry.exchange for entry in _arrange(ended, is_model=self._border.contract == MODEL)]
        facts = mask_value(self.facts, self.masker)
        return Recording(self._border.key, self._border.contract, facts, ignore, self._lists, exchanges)


def mask_pieces(pieces: Sequence[str], masker: Masker) -> list[str]:
    """The pieces of a text without secrets, also those that lie across borders of pieces."""
    text = "".join(pieces)
    if masker(text) == text:
        return list(pieces)
    stream = StreamMasker(masker)
    shown = [stream.feed(piece) for piece in pieces]
    return [piece for piece in (*shown, stream.flush()) if piece]


def _arrange(entries: Sequence[Entry], *, is_model: bool) -> list[Entry]:
    """In the order in which they began, but what went on at the same time by what was asked.

    So the same run gives the same file, however its concurrent parts were timed. A conversation with a model stays
    together.
    """
    threads: list[list[Entry]] = []
    for entry in entries:
        thread = _find_thread(entry, threads) if is_model else None
        if thread is None:
            threads.append([entry])
        else:
            thread.append(entry)
    groups: list[list[list[Entry]]] = []
    end = 0
    for thread in threads:
        if thread[0].began > end:
            groups.append([])
        groups[-1].append(thread)
        end = max(end, thread[-1].ended)
    return [entry for group in groups for thread in sorted(group, key=_sort_key) for entry in thread]


def _find_thread(entry: Entry, threads: Sequence[list[Entry]]) -> list[Entry] | None:
    """The conversation that a request continues."""
    messages = entry.exchange.request["messages"]
    for thread in reversed(threads):
        last = thread[-1]
        before = last.exchange.request["messages"]
        if last.ended < entry.began and len(before) < len(messages) and before == messages[: len(before)]:
            return thread
    return None


def _sort_key(thread: Sequence[Entry]) -> bytes:
    return msgspec.json.encode(thread[0].exchange.request, order="deterministic")
