"""Chat Completions: a request as bytes, and an answer from its JSON texts.

https://platform.openai.com/docs/api-reference/chat; streaming and buffered answers take the same way.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from kinds.ai_openai.wire.reasoning import Reasoning
from runtime.ai.content import flatten
from runtime.ai.contracts import (
    FinishReason,
    Image,
    Message,
    ModelRequest,
    Part,
    Text,
    ToolCall,
    TurnEnd,
    Usage,
)
from runtime.ai.provider import break_off, end_early, make_no_sense, snake_case

FORMAT = "openai"
"""The key of `Message.wire` and of `provider_data`, and the tool format.

A turn's data there are `message`, fields of the message, and `calls`, fields of each call in their order.
"""

OURS = frozenset(("messages", "tools", "stream"))
"""Fields of a request that no option may set."""

DONE = b"[DONE]"
REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "error": "error",  # of OpenRouter, https://openrouter.ai/docs/api-reference/overview
}


def encode_request(model: str, options: Mapping[str, Any], request: ModelRequest, tool_block: bytes) -> bytes:
    """The body of a request; `options` in camelCase, where null means that the field is not sent."""
    fields: dict[str, Any] = {"model": model, "stream_options": {"include_usage": True}}
    fields |= {snake_case(name): value for name, value in options.items()}
    if tool_block and request.tool_choice != "auto":
        fields["tool_choice"] = _encode_choice(request.tool_choice)
    head = msgspec.json.encode(
        {name: value for name, value in fields.items() if value is not None and name not in OURS}
    )
    tools = b',"tools":' + tool_block if tool_block else b""
    return b"".join(
        (head[:-1], b',"stream":true', tools, b',"messages":[', b",".join(_encode_messages(request.messages)), b"]}")
    )


def _encode_choice(choice: str) -> Any:
    return choice if choice in ("none", "required") else {"type": "function", "function": {"name": choice}}


def _encode_messages(messages: Sequence[Message]) -> list[bytes]:
    try:
        return [message.wire[FORMAT] for message in messages]
    except KeyError:
        _encode_new(messages)
    return [message.wire[FORMAT] for message in messages]


def _encode_new(messages: Sequence[Message]) -> None:
    """Give each message its encoded form, once; images of tool results follow the last of a run of tool messages."""
    images: list[Image] = []
    for place, message in enumerate(messages):
        if FORMAT in message.wire:
            continue
        wire = msgspec.json.encode(_encode_message(message, len(images)))
        if message.role == "tool":
            if not isinstance(message.content, str):
                images += [part for part in message.content if isinstance(part, Image)]
            if images and (place + 1 == len(messages) or messages[place + 1].role != "tool"):
                wire = b",".join((wire, _attach(images)))
                images = []
        message.wire[FORMAT] = wire


def _attach(images: Sequence[Image]) -> bytes:
    """The images of tool results: a tool's message takes text alone, so a user's message after them brings these."""
    content: list[dict[str, Any]] = []
    for number, image in enumerate(images, 1):
        content += [{"type": "text", "text": f"[image {number}]"}, _encode_part(image)]
    return msgspec.json.encode({"role": "user", "content": content})


def _encode_message(message: Message, images: int) -> dict[str, Any]:
    content: Any = message.content
    if message.role == "tool":
        text = content if isinstance(content, str) else _flatten(content, images)
        text = f"Error: {text}" if message.is_error else text
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
    if message.role != "assistant":
        parts = content if isinstance(content, str) else [_encode_part(part) for part in content]
        return {"role": message.role, "content": parts}
    content = flatten(content)  # a turn has no images here: that of another model names them
    if not message.tool_calls:  # reasoning goes back with calls alone: elsewhere there are servers that refuse it
        return {"role": "assistant", "content": content}
    calls = [_encode_call(call) for call in message.tool_calls]
    data = message.provider_data
    own = data.get(FORMAT) if isinstance(data, Mapping) else None
    if not isinstance(own, Mapping):
        return {"role": "assistant", "content": content or None, "tool_calls": calls}
    fields, more = own.get("message"), own.get("calls")
    for call, extra in zip(calls, more if isinstance(more, list) else (), strict=False):
        call |= extra if isinstance(extra, Mapping) else {}
    fields = fields if isinstance(fields, Mapping) else {}
    return {"role": "assistant", "content": content or None, "tool_calls": calls, **fields}


def _encode_part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.data}"}}


def _flatten(parts: Sequence[Part], images: int) -> str:
    texts = []
    for part in parts:
        if isinstance(part, Text):
            texts.append(part.text)
        else:
            images += 1
            texts.append(f"[image {images} attached below]")
    return "\n".join(texts)


def _encode_call(call: ToolCall) -> dict[str, Any]:
    """Arguments go back as the model wrote them, but broken JSON in a frame: there are servers that parse them."""
    arguments = call.arguments
    if not arguments.strip():
        arguments = "{}"
    else:
        try:
            msgspec.json.decode(arguments, type=dict)
        except msgspec.DecodeError:
            arguments = msgspec.json.encode({"invalid_json": arguments}).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


class FunctionPiece(Struct):
    name: str | None = None
    arguments: Any = None


class CallPiece(Struct):
    index: int | None = None
    id: str | None = None
    function: FunctionPiece | None = None
    extra_content: Any = None


class Piece(Struct):
    content: Any = None
    refusal: str | None = None
    tool_calls: list[CallPiece] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None


class Choice(Struct):
    delta: Piece | None = None
    message: Piece | None = None
    finish_reason: str | None = None


class Chunk(Struct):
    """A chunk of a stream, or a whole answer: what we read of it."""

    choices: list[Choice] | None = None
    usage: Any = None
    error: Any = None
    object: Any = None
    code: Any = None


_CHUNKS = msgspec.json.Decoder(Chunk)


class Reply:
    """An answer as it comes: `read` gives the text of each JSON text, `end` the turn's end."""

    def __init__(self, name: str, mask: Callable[[str], str]) -> None:
        self._name = name
        self._mask = mask
        self._calls: list[_CallInParts] = []
        self._reason: str | None = None
        self._has_refused = False
        self._is_done = False
        self._usage: Any = None
        self._reasoning = Reasoning()

    def read(self, text: bytes) -> str:
        """The text that the chunk adds; raises `ModelError` for the provider's error, and for what makes no sense."""
        if text.strip() == DONE:
            self._is_done = True
            return ""
        try:
            chunk = _CHUNKS.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise make_no_sense(self._name, error) from error
        if chunk.error or chunk.object == "error":  # vLLM's has its words beside that, without an `error`
            status = chunk.error.get("code") if isinstance(chunk.error, Mapping) else chunk.code
            raise break_off(self._name, text, status if isinstance(status, int) else 500, self._mask)
        if chunk.usage is not None:
            self._usage = chunk.usage
        added = ""
        for choice in chunk.choices or ():
            piece = choice.delta or choice.message
            if choice.finish_reason:
                self._reason = choice.finish_reason
            if piece is not None:
                added += self._add(piece)
        return added

    def _add(self, piece: Piece) -> str:
        for call in piece.tool_calls or ():
            self._add_call(call)
        if piece.reasoning_content is not None or piece.reasoning is not None or piece.reasoning_details is not None:
            texts = {"reasoning_content": piece.reasoning_content, "reasoning": piece.reasoning}
            self._reasoning.add(texts, piece.reasoning_details)
        text = piece.content if isinstance(piece.content, str) else _join_parts(piece.content)
        if piece.refusal:
            self._has_refused = True
            text += piece.refusal
        return text

    def _add_call(self, piece: CallPiece) -> None:
        """Pieces belong together by index; some servers give none, or one to all, so a new id starts a call too."""
        function = piece.function or FunctionPiece()
        known = next((call for call in reversed(self._calls) if piece.index in (None, call.index)), None)
        if known is None or (piece.id and known.id and piece.id != known.id):
            known = _CallInParts(piece.index)
            self._calls.append(known)
        known.id = known.id or piece.id or ""
        known.name = known.name or function.name or ""
        known.extra_content = piece.extra_content or known.extra_content
        if isinstance(function.arguments, str):
            known.arguments.append(function.arguments)
        elif function.arguments is not None:
            known.arguments.append(msgspec.json.encode(function.arguments).decode())

    def end(self) -> TurnEnd:
        """The end of the turn; raises `ModelError` when the answer was cut."""
        if not self._is_done and self._reason is None:
            raise end_early(self._name)
        if self._reason == "length" and self._calls and not any(self._calls[-1].arguments):
            self._calls[-1].arguments.append("{")  # the limit cut it off before it began: no call without arguments
        calls = [ToolCall(call.id, call.name, "".join(call.arguments)) for call in self._calls]
        return TurnEnd(calls, self._finish_reason(), _read_usage(self._usage), self._own_data())

    def _own_data(self) -> dict[str, Any] | None:
        """What the server wants back with the turn's calls."""
        message = self._reasoning.fields()
        calls = [{"extra_content": call.extra_content} if call.extra_content else {} for call in self._calls]
        return {FORMAT: {"message": message, "calls": calls}} if self._calls and (message or any(calls)) else None

    def _finish_reason(self) -> FinishReason:
        """By the presence of calls first: compatible servers get the reason wrong."""
        if self._calls:
            return "tool-calls"
        if self._has_refused:
            return "content-filter"
        if self._reason in (None, "tool_calls", "function_call"):
            return "stop"
        return REASONS.get(self._reason or "", "other")


class _CallInParts:
    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.extra_content: Any = None


def _join_parts(content: Any) -> str:
    """Some compatible servers answer with a list of parts."""
    if not isinstance(content, list):
        return ""
    return "".join(part.get("text") or "" for part in content if isinstance(part, dict))


def _read_usage(usage: Any) -> Usage:
    """Counts of tokens, as far as there are any: no odd one of a compatible server is worth an answer."""
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    cached = _count(usage, "prompt_tokens_details", "cached_tokens")
    written = _count(usage, "prompt_tokens_details", "cache_write_tokens") or UNSET
    reasoning = _count(usage, "completion_tokens_details", "reasoning_tokens")
    total = _count(usage, "total_tokens") or prompt + completion
    return Usage(prompt, completion, total, cached, reasoning, cache_write_tokens=written)


def _count(value: Any, *path: str) -> int:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    is_count = type(value) in (int, float) and 0 <= value < 2**63
    return int(value) if is_count else 0
