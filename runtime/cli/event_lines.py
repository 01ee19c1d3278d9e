"""The events of a run as lines of JSON, each with its time: on standard output, and in the file of `--trace`."""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from runtime.ai.events import Event
from runtime.errors import UsageError
from runtime.masking import Masker, StreamMasker, mask_json

Sink = Callable[[str], None]


class EventLines:
    """One run's events as lines; pieces of text are held back while they could hold half a secret."""

    def __init__(self, masker: Masker, target: str | None, sink: Sink) -> None:
        """`target` stands on each line, where there are several."""
        self._masker = masker
        self._stream = StreamMasker(masker)
        self._named = {} if target is None else {"target": target}
        self._sink = sink

    def add(self, event: Event) -> None:
        data = msgspec.to_builtins(event)
        if data["type"] == "text-delta":
            data["text"] = self._stream.feed(data["text"])
            if data["text"]:
                self._write(data)
            return
        rest = self._stream.flush()
        if rest:
            self._write({"type": "text-delta", "text": rest})
        self.add_data(data)

    def add_data(self, data: Mapping[str, Any]) -> None:
        """Any other line: JSON values with a `type`."""
        self._write(mask_json(msgspec.to_builtins(data), self._masker))

    def _write(self, data: Mapping[str, Any]) -> None:
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._sink(msgspec.json.encode({**self._named, "time": time, **data}).decode() + "\n")


class TraceFile:
    """The file of `--trace`: for its owner alone, never through a link; each line is written in one go."""

    def __init__(self, path: str) -> None:
        """Raises UsageError for a file that cannot be written."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC
        try:
            self._descriptor = os.open(path, flags, 0o600)
            os.fchmod(self._descriptor, 0o600)
        except OSError as error:
            why = (error.strerror or "unknown").lower()
            raise UsageError(f'the trace cannot be written to "{path}": {why}') from error

    def write(self, line: str) -> None:
        data = line.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(self._descriptor, data) :]

    def close(self) -> None:
        os.close(self._descriptor)
