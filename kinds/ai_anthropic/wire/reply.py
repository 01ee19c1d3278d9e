"""An answer of the Messages API from its JSON texts; streaming and buffered answers take the same way.

https://docs.anthropic.com/en/docs/build-with-claude/streaming
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from kinds.ai_anthropic.wire.request import FORMAT
from runtime.ai.contracts import FinishReason, ToolCall, TurnEnd, Usage
from runtime.ai.formats.encoding import encode
from runtime.ai.provider import as_object, break_off, end_early, make_no_sense

REASONS: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}

STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that each error has outside of a stream; any other is 500."""


class TokenDetails(Struct):
    thinking_tokens: int | None = None


class UsagePiece(Struct):
    """Totals so far: what a later event says goes before, what it leaves out stays."""

    input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens: int | None = None
    output_tokens_details: TokenDetails | None = None


class StopDetails(Struct):
    explanation: str | None = None


class Delta(Struct):
    """What is added to a block, or to the message."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: Any = None
    stop_reason: str | None = None
    stop_details: StopDetails | None = None


class Whole(Struct):
    """A message, whole or as it starts."""

    content: list[dict[str, Any]] = []
    stop_reason: str | None = None
    stop_details: StopDetails | None = None
    usage: UsagePiece | None = None


class Event(Whole):
    """An event of a stream, or a whole message: what we read of either."""

    type: str = ""
    index: int = 0
    message: Whole | None = None
    content_block: dict[str, Any] = {}
    delta: Delta | None = None
    error: Any = None


class Tag(Struct):
    """What every event has."""

    type: str


_EVENTS = msgspec.json.Decoder(Event)
_TAGS = msgspec.json.Decoder(Tag)
_KNOWN = frozenset(
    (
        *("message", "message_start", "message_delta", "message_stop", "error"),
        *("content_block_start", "content_block_delta", "content_block_stop"),
    )
)


class Block:
    """A block of the turn, which starts as the API gave it and grows."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.type = str(start.get("type", ""))
        self._start = start
        self._pieces: list[str] = []
        self._json: list[str] = []
        self._signature = ""
        self._citations: list[Any] = []

    def add(self, delta: Delta) -> None:
        if delta.type in ("text_delta", "thinking_delta"):
            self._pieces.append(delta.text or delta.thinking or "")
        elif delta.type == "input_json_delta":
            self._json.append(delta.partial_json or "")
        elif delta.type == "signature_delta":
            self._signature = delta.signature or ""
        elif delta.type == "citations_delta":
            self._citations.append(delta.citation)

    @property
    def text(self) -> str:
        """What it starts with, where it is a text."""
        return str(self._start.get("text") or "") if self.type == "text" else ""

    @property
    def arguments(self) -> str:
        """The input of a call as JSON text, as the model wrote it; none where it wrote nothing."""
        written = "".join(self._json)
        given = self._start.get("input")
        return encode(given).decode() if given and not written else written

    def build(self) -> dict[str, Any]:
        """The block as the API takes it back."""
        built = dict(self._start)
        if self._pieces:
            built[self.type] = f"{built.get(self.type) or ''}{''.join(self._pieces)}"
        if self._signature:
            built["signature"] = self._signature
        if self._citations:
            built["citations"] = [*(built.get("citations") or ()), *self._citations]
        if "input" in built:
            built["input"] = as_object(self.arguments)
        return built

    @property
    def is_plain(self) -> bool:
        """Whether a message's text and calls say all of it."""
        known = {"type", "text"} if self.type == "text" else {"type", "id", "name", "input"}
        filled = {name for name, value in self.build().items() if value is not None}
        return self.type in ("text", "tool_use") and filled <= known


class Reply:
    """An answer as it comes: `read` gives the text of each JSON text, `end` the turn's end."""

    def __init__(self, name: str, mask: Callable[[str], str]) -> None:
        self._name = name
        self._mask = mask
        self._blocks: list[Block] = []
        self._by_index: dict[int, Block] = {}
        self._reason: str | None = None
        self._is_done = False
        self._has_text = False
        self._usage = UsagePiece()
        self._spent = Usage()

    def read(self, text: bytes) -> str:
        """The text that the event adds; raises `ModelError` for the provider's error, and for what makes no sense."""
        event = self._decode(text)
        if event.error or event.type == "error":
            kind = event.error.get("type") if isinstance(event.error, Mapping) else None
            raise break_off(self._name, text, STATUSES.get(str(kind), 500), self._mask)
        added = self._take(event)
        self._has_text = self._has_text or bool(added.strip())
        return added

    def _decode(self, text: bytes) -> Event:
        """The event; the API may send new ones at any time, of any shape, which say nothing to us."""
        try:
            return _EVENTS.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            try:
                if _TAGS.decode(text).type not in _KNOWN:
                    return Event()
            except (msgspec.DecodeError, UnicodeDecodeError):
                pass
            raise make_no_sense(self._name, error) from error

    def _take(self, event: Event) -> str:
        if event.type == "content_block_delta" and event.delta is not None:
            return self._grow(event.index, event.delta)
        if event.type == "content_block_start":
            return self._start(event.index, event.content_block)
        if event.type in ("message_start", "message"):
            return self._open(event if event.message is None else event.message)
        if event.type == "message_delta":
            self._count(event.usage)
            if event.delta is not None:
                return self._stop(event.delta.stop_reason, event.delta.stop_details)
        elif event.type == "message_stop":
            self._is_done = True
        return ""

    def _open(self, message: Whole) -> str:
        self._by_index = {}
        self._count(message.usage)
        added = [self._start(place, block) for place, block in enumerate(message.content)]
        added.append(self._stop(message.stop_reason, message.stop_details))
        return "".join(added)

    def _start(self, index: int, start: dict[str, Any]) -> str:
        block = self._by_index[index] = Block(start)
        self._blocks.append(block)
        return block.text

    def _grow(self, index: int, delta: Delta) -> str:
        block = self._by_index.get(index)
        if block is None:
            raise make_no_sense(self._name, ValueError(f"there is no block {index} to add to"))
        block.add(delta)
        return delta.text or "" if delta.type == "text_delta" else ""

    def _stop(self, reason: str | None, details: StopDetails | None) -> str:
        """A refusal that comes without a word is told in the API's own."""
        self._reason = reason or self._reason
        if self._reason != "refusal" or self._has_text or details is None:
            return ""
        return details.explanation or ""

    def _count(self, usage: UsagePiece | None) -> None:
        if usage is None:
            return
        for name in UsagePiece.__struct_fields__:
            value = getattr(usage, name)
            if value is not None:
                setattr(self._usage, name, value)

    def resume(self) -> bool:
        """Whether the API paused the turn, which then goes on in its answer to the `blocks` so far."""
        if self._reason != "pause_turn" or any(block.type == "tool_use" for block in self._blocks):
            return False
        self._spent += _read_usage(self._usage)
        self._usage = UsagePiece()
        self._reason, self._is_done = None, False
        return True

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The turn's blocks so far, as the API takes them back."""
        return [block.build() for block in self._blocks]

    def end(self) -> TurnEnd:
        """The end of the turn; raises `ModelError` when the answer was cut."""
        if not self._is_done and self._reason is None:
            raise end_early(self._name)
        calls = [] if self._reason == "refusal" else self._read_calls()
        reason: FinishReason = "tool-calls" if calls else REASONS.get(self._reason or "end_turn", "other")
        data = None if self._is_plain else {FORMAT: self.blocks}
        return TurnEnd(calls, reason, self._spent + _read_usage(self._usage), data)

    @property
    def _is_plain(self) -> bool:
        """Whether the turn is a text and calls after it, which a message says as well."""
        return all(block.is_plain for block in self._blocks) and all(
            block.type == "tool_use" for block in self._blocks[1:]
        )

    def _read_calls(self) -> list[ToolCall]:
        calls = []
        for block in self._blocks:
            if block.type == "tool_use":
                arguments = block.arguments
                if not arguments and block is self._blocks[-1] and REASONS.get(self._reason or "") == "length":
                    arguments = "{"  # the limit cut it off before it began: no call without arguments
                built = block.build()
                calls.append(ToolCall(str(built.get("id") or ""), str(built.get("name") or ""), arguments))
        return calls


def _read_usage(usage: UsagePiece) -> Usage:
    cached = usage.cache_read_input_tokens or 0
    written = usage.cache_creation_input_tokens or 0
    prompt = (usage.input_tokens or 0) + cached + written
    completion = usage.output_tokens or 0
    details = usage.output_tokens_details
    thinking = details.thinking_tokens if details else None
    total = prompt + completion
    return Usage(prompt, completion, total, cached, thinking or 0, cache_write_tokens=written or UNSET)
