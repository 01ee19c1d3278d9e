"""An answer of the Gemini API from its JSON texts; streaming and buffered answers take the same way."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from kinds.ai_google.wire.request import FORMAT, read_call
from runtime.ai.contracts import FinishReason, Image, ToolCall, TurnEnd, Usage
from runtime.ai.formats.encoding import encode
from runtime.ai.provider import break_off, end_early, make_no_sense

REASONS: Mapping[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        (
            *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "ESCALATION"),
            *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
        ),
        "content-filter",
    ),
    **dict.fromkeys(
        (
            *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
            *("MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE"),
        ),
        "error",
    ),
}


TOLD = frozenset(("text", "functionCall"))
"""Of a part's fields those that are told as text and calls."""


class Content(Struct):
    parts: list[dict[str, Any]] | None = None


class Candidate(Struct, rename="camel"):
    content: Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class PromptFeedback(Struct, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None


class UsagePiece(Struct, rename="camel"):
    """Totals so far: what a later chunk says goes before, what it leaves out stays."""

    prompt_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    total_token_count: int | None = None


class Chunk(Struct, rename="camel"):
    """A chunk of a stream, which is a whole answer as well: what we read of it."""

    candidates: list[Candidate] | None = None
    prompt_feedback: PromptFeedback | None = None
    usage_metadata: UsagePiece | None = None
    error: Any = None


_CHUNKS: msgspec.json.Decoder[Chunk | list[Chunk]] = msgspec.json.Decoder(Chunk | list[Chunk])


class Reply:
    """An answer as it comes: `read` gives the text of each JSON text, `end` the turn's end."""

    def __init__(self, name: str, mask: Callable[[str], str]) -> None:
        self._name = name
        self._mask = mask
        self._parts: list[dict[str, Any]] = []
        self._reason: FinishReason | None = None
        self._has_text = False
        self._usage = UsagePiece()

    def read(self, text: bytes) -> str:
        """The text that the chunk adds; raises `ModelError` for the provider's error, and for what makes no sense."""
        try:
            chunks = _CHUNKS.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise make_no_sense(self._name, error) from error
        added = []
        for chunk in chunks if isinstance(chunks, list) else [chunks]:
            if chunk.error:
                status = chunk.error.get("code") if isinstance(chunk.error, Mapping) else None
                raise break_off(self._name, text, status if isinstance(status, int) else 500, self._mask)
            added.append(self._take(chunk))
        return "".join(added)

    def _take(self, chunk: Chunk) -> str:
        if chunk.usage_metadata is not None:
            self._count(chunk.usage_metadata)
        feedback = chunk.prompt_feedback
        if feedback is not None and feedback.block_reason:
            return self._stop("content-filter", feedback.block_reason_message)
        added = ""
        for candidate in (chunk.candidates or ())[:1]:
            for part in (candidate.content.parts if candidate.content else None) or ():
                added += self._add(part)
            self._has_text = self._has_text or bool(added)
            if candidate.finish_reason:
                added += self._stop(REASONS.get(candidate.finish_reason, "other"), candidate.finish_message)
        return added

    def _add(self, part: dict[str, Any]) -> str:
        """Keep a part as it came, but a text that only goes on with the one before: signed parts stay apart."""
        text = part.get("text")
        is_bare = isinstance(text, str) and part.keys() <= {"text", "thought"}
        last = self._parts[-1] if self._parts else {}
        if is_bare and not text:
            return ""
        if is_bare and last.keys() == part.keys() and last.get("thought") == part.get("thought"):
            last["text"] += text
        else:
            self._parts.append(part)
        return text if isinstance(text, str) and not part.get("thought") else ""

    def _stop(self, reason: FinishReason, words: str | None) -> str:
        """An answer that is held back without a word is told in the API's own."""
        self._reason = reason
        return words or "" if reason in ("content-filter", "error") and not self._has_text else ""

    def _count(self, usage: UsagePiece) -> None:
        for name in UsagePiece.__struct_fields__:
            value = getattr(usage, name)
            if value is not None:
                setattr(self._usage, name, value)

    def end(self) -> TurnEnd:
        """The end of the turn; raises `ModelError` when the answer was cut."""
        if self._reason is None:
            raise end_early(self._name)
        calls = [] if self._reason == "content-filter" else self._read_calls()
        shown = [] if self._reason == "content-filter" else [part for part in self._parts if not part.get("thought")]
        images = tuple(image for part in shown if (image := _read_image(part)) is not None)
        is_plain = not calls and all(part.keys() == {"text"} for part in self._parts)
        return TurnEnd(
            calls,
            "tool-calls" if calls else self._reason,
            _read_usage(self._usage),
            None if is_plain else {FORMAT: self._parts},
            images,
            tuple(part for part in shown if not TOLD & part.keys() and _read_image(part) is None),
        )

    def _read_calls(self) -> list[ToolCall]:
        """By the presence of calls: the finish reason of a turn with calls is that of one without."""
        wanted = [call for part in self._parts if (call := read_call(part)) is not None]
        return [
            ToolCall(str(call.get("id") or ""), str(call.get("name") or ""), encode(call.get("args") or {}).decode())
            for call in wanted
        ]


def _read_image(part: Mapping[str, Any]) -> Image | None:
    blob = part.get("inlineData")
    media_type = blob.get("mimeType") if isinstance(blob, Mapping) else None
    if not isinstance(blob, Mapping) or not isinstance(media_type, str) or not media_type.startswith("image/"):
        return None
    return Image(str(blob.get("data") or ""), media_type)


def _read_usage(usage: UsagePiece) -> Usage:
    prompt = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
    thoughts = usage.thoughts_token_count or 0
    completion = (usage.candidates_token_count or 0) + thoughts
    total = usage.total_token_count or prompt + completion
    return Usage(prompt, completion, total, usage.cached_content_token_count or 0, thoughts)
