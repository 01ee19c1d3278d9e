"""A turn of a conversation as it happens: the answer on standard output, what is told of it on standard error."""

import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UnsetType, to_builtins

from runtime.ai.contracts import Text, TextDelta, Usage
from runtime.ai.events import Event, Finished, MediaMade, OutputRefused, ToolAnswered, ToolCalled
from runtime.cli.output import encodable, has_colour, write
from runtime.cli.terminal_text import disarm, reveal, reveal_json
from runtime.masking import Masker, StreamMasker, mask_json

LONGEST_NOTE = 200
"""Characters of arguments, and of why a call failed, that are shown."""

UNFINISHED: Mapping[str, str] = {
    "length": "the answer is cut off: the model reached its limit of tokens",
    "content-filter": "the provider held the answer back, or a part of it",
    "error": "the provider says that the model's answer went wrong",
    "tool-calls": "the model still wanted tools in its last turn; this is the text that there is",
}
"""What an answer's finish reason means for whoever reads its text."""


class TurnView:
    """Shows one turn's events; `options` has `no_color` and `quiet`, which leaves the answer alone."""

    def __init__(self, masker: Masker, options: Any) -> None:
        self._masker = masker
        self._stream = StreamMasker(masker)
        self._is_terminal = sys.stdout.isatty()
        self._is_quiet = bool(options.quiet)
        self._colour = has_colour(sys.stderr, options)
        self._started = time.monotonic()
        self._is_line_open = False

    def show(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._write(self._stream.feed(event.text))
            return
        self.end_line()
        if isinstance(event, MediaMade):
            for line in describe_media(event):
                self._write(f"{line}\n")
        elif isinstance(event, ToolCalled):
            self._note(f"[{event.name}] {_on_one_line(mask_json(event.arguments, self._masker))}")
        elif isinstance(event, ToolAnswered):
            self._note(f"[{event.name}] {_time(event.duration_ms / 1000)}, {self._result(event)}")
        elif isinstance(event, OutputRefused):
            self._note(f"asked again: {_cut(self._masker(event.message))}")
        elif isinstance(event, Finished):
            if event.finish_reason in UNFINISHED:
                self._note(UNFINISHED[event.finish_reason])
            if self._is_terminal:
                self._note(", ".join((_time(time.monotonic() - self._started), *_spent(event.usage))))

    def end_line(self) -> None:
        """Show what is held back, and end a line that text has begun."""
        self._write(self._stream.flush())
        if self._is_line_open:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._is_line_open = not text.endswith("\n")
            write(disarm(text) if self._is_terminal else text)

    def _note(self, text: str) -> None:
        if self._is_quiet:
            return
        text = encodable(text, sys.stderr)
        print(f"\x1b[2m{text}\x1b[0m" if self._colour else text, file=sys.stderr, flush=True)

    def _result(self, event: ToolAnswered) -> str:
        if event.is_error:
            text = event.content if isinstance(event.content, str) else ""
            return f"failed: {_cut(self._masker(text))}"
        return measure(event.content)


def describe_media(event: MediaMade) -> list[str]:
    """What a model made beside its text, a line for each; what reaches nobody is told as well."""
    lines = [describe_image(to_builtins(image)) for image in event.images]
    return lines + [f"[not shown: {_name_rest(each)}]" for each in event.rest]


def describe_image(image: Mapping[str, Any]) -> str:
    """An image in words: `[image image/png, 12345 bytes]`."""
    data = str(image["data"]).rstrip("=")
    return f"[image {image['mediaType']}, {len(data) * 3 // 4} bytes]"


def _name_rest(value: Any) -> str:
    """What a provider calls a thing: its type, or the names of its fields."""
    if not isinstance(value, Mapping):
        return type(value).__name__
    return str(value.get("type") or ", ".join(map(str, value)))


def measure(content: Any) -> str:
    """How large a result is: `1.2 kB`, `3 B and 2 images`."""
    parts = [Text(content)] if isinstance(content, str) else content
    texts = [part.text for part in parts if isinstance(part, Text)]
    images = len(parts) - len(texts)
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    shown = (
        f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
    )
    counted = f"{images} image{'' if images == 1 else 's'}"
    return shown if not images else f"{shown} and {counted}" if size else counted


def _spent(usage: Usage) -> Iterator[str]:
    if usage.total_tokens:
        yield f"{usage.total_tokens} tokens"
    if not isinstance(usage.cost, UnsetType):
        yield f"cost {usage.cost:g}"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _on_one_line(value: Any) -> str:
    return _cut(" ".join(line.strip() for line in reveal_json(value).split("\n")))


def _cut(text: str) -> str:
    line = reveal(text.replace("\n", " "))
    return line if len(line) <= LONGEST_NOTE else f"{line[:LONGEST_NOTE]}…"
