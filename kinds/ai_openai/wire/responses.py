"""Responses: a request as bytes, and an answer from its JSON texts.

https://platform.openai.com/docs/api-reference/responses; streaming and buffered answers take the same way.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from runtime.ai.content import EMPTY, flatten
from runtime.ai.contracts import FinishReason, Image, Message, ModelRequest, Part, Text, ToolCall, TurnEnd, Usage
from runtime.ai.formats.encoding import encode
from runtime.ai.formats.names import mark
from runtime.ai.provider import as_object, break_off, end_early, make_no_sense, snake_case

FORMAT = "openai-responses"
"""The key of `provider_data`, and the tool format."""

OURS = frozenset(("input", "tools", "stream"))
"""Fields of a request that no option may set."""

ID_LIMIT = 64
DONE = b"[DONE]"

REASONS: Mapping[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content-filter"}

FAULTS_OF_THE_REQUEST = (
    *("invalid_", "image_", "unsupported_", "empty_", "failed_to_"),
    *("data_residency_", "bio_", "misalignment_"),
)
"""How the codes of errors begin that are no fault of the provider."""

TOLD = frozenset(("message", "function_call", "reasoning"))
"""The types of items that are told as text and calls, or are thoughts."""

PLAIN_MESSAGE = {"type", "id", "role", "status", "content"}
PLAIN_CALL = {"type", "id", "status", "call_id", "name", "arguments"}
"""The fields of items that say no more than a message of ours."""


def encode_request(model: str, options: Mapping[str, Any], request: ModelRequest, tool_block: bytes) -> bytes:
    """The body of a request; `options` in camelCase, where null means that the field is not sent.

    Unless an option says otherwise the provider is told to store nothing: each request holds the whole conversation.
    """
    fields: dict[str, Any] = {"model": model, "store": False}
    fields |= {snake_case(name): value for name, value in options.items()}
    if not tool_block:
        fields["tool_choice"] = None
    elif request.tool_choice != "auto":
        fields["tool_choice"] = _encode_choice(request.tool_choice)
    head = encode({name: value for name, value in fields.items() if value is not None and name not in OURS})
    tools = b',"tools":' + tool_block if tool_block else b""
    items = _encode_messages(request.messages, fields["store"] is not False)
    return b"".join((head[:-1], b',"stream":true', tools, b',"input":[', b",".join(items), b"]}"))


def _encode_choice(choice: str) -> Any:
    return choice if choice in ("none", "required") else {"type": "function", "name": choice}


def _encode_messages(messages: Sequence[Message], is_stored: bool) -> list[bytes]:
    key = f"{FORMAT}-stored" if is_stored else FORMAT
    wires = []
    for message in messages:
        wire = message.wire.get(key)
        if wire is None:
            items = _encode_message(message, is_stored)
            wire = message.wire[key] = b",".join(encode(item) for item in items)
        if wire:
            wires.append(wire)
    return wires


def _encode_message(message: Message, is_stored: bool) -> list[dict[str, Any]]:
    if message.role == "tool":
        output = _encode_output(message)
        return [{"type": "function_call_output", "call_id": _fit_id(message.tool_call_id), "output": output}]
    if message.role == "assistant":
        return _encode_turn(message, is_stored)
    content: Any = message.content
    if not isinstance(content, str):
        content = [_encode_part(part) for part in content]
    return [{"role": message.role, "content": content}]


def _encode_turn(message: Message, is_stored: bool) -> list[dict[str, Any]]:
    """The model's own items as they came, where there are any; without calls that nobody answered.

    What was not stored has no name there: items go back without one, and a thought only where it holds itself.
    """
    data = message.provider_data
    items = data.get(FORMAT) if isinstance(data, Mapping) else None
    if not isinstance(items, list):
        text = flatten(message.content)
        said = [{"role": "assistant", "content": text}] if text else []
        return said + [_encode_call(call) for call in message.tool_calls]
    calls = iter(message.tool_calls)
    kept = []
    for item in items:
        if item.get("type") == "function_call":
            call = next(calls, None)
            if call is None:
                continue
            item = {**item, **_encode_call(call)}
        if not is_stored:
            if item.get("type") == "reasoning" and not item.get("encrypted_content"):
                continue
            item = {name: value for name, value in item.items() if name != "id"}
        kept.append(item)
    return kept if any(item.get("type") != "reasoning" for item in kept) else []


def _encode_call(call: ToolCall) -> dict[str, Any]:
    """Arguments go back as the model wrote them, but broken JSON in a frame: there are servers that parse them."""
    arguments = call.arguments.strip() or "{}"
    value = as_object(arguments)
    if value.keys() == {"invalid_json"}:
        arguments = encode(value).decode()
    return {"type": "function_call", "call_id": _fit_id(call.id), "name": call.name, "arguments": arguments}


def _fit_id(name: str) -> str:
    """A call's id within the API's length: other providers' models give longer ones."""
    return name if len(name) <= ID_LIMIT else mark(name, name, set(), ID_LIMIT)


def _encode_output(message: Message) -> Any:
    content = message.content
    prefix = "Error: " if message.is_error else ""
    if isinstance(content, str) or not any(isinstance(part, Image) for part in content):
        text = flatten(content)
        return prefix + (text if text.strip() else EMPTY)
    parts = [_encode_part(part) for part in content if isinstance(part, Image) or part.text]
    return [{"type": "input_text", "text": prefix.strip()}, *parts] if prefix else parts


def _encode_part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    url = f"data:{part.media_type};base64,{part.data}"
    return {"type": "input_image", "detail": "auto", "image_url": url}


class InputDetails(Struct):
    cached_tokens: int | None = None


class OutputDetails(Struct):
    reasoning_tokens: int | None = None


class UsagePiece(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    input_tokens_details: InputDetails | None = None
    output_tokens_details: OutputDetails | None = None


class Incomplete(Struct):
    reason: str | None = None


class Response(Struct):
    """A whole answer, or what is known of it when it ends."""

    status: str | None = None
    output: list[dict[str, Any]] | None = None
    error: Any = None
    incomplete_details: Incomplete | None = None
    usage: UsagePiece | None = None


class Event(Response):
    """An event of a stream, or a whole answer: what we read of either."""

    type: str = ""
    object: str | None = None
    output_index: int = 0
    item: dict[str, Any] | None = None
    delta: Any = None
    response: Response | None = None
    code: Any = None
    message: Any = None


_EVENTS = msgspec.json.Decoder(Event)
_ENDS = frozenset(("response.completed", "response.incomplete"))


class Reply:
    """An answer as it comes: `read` gives the text of each JSON text, `end` the turn's end."""

    def __init__(self, name: str, mask: Callable[[str], str]) -> None:
        self._name = name
        self._mask = mask
        self._items: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, list[str]] = {}
        self._has_text = False
        self._answer: Response | None = None

    def read(self, text: bytes) -> str:
        """The text that the event adds; raises `ModelError` for the provider's error, and for what makes no sense."""
        if text.strip() == DONE:
            return ""
        try:
            event = _EVENTS.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise make_no_sense(self._name, error) from error
        answer = event if event.object == "response" else event.response
        fault = _find_fault(event, answer)
        if fault is not None:
            raise break_off(self._name, encode(fault), _read_status(fault), self._mask)
        added = self._take(event, answer)
        self._has_text = self._has_text or bool(added)
        return added

    def _take(self, event: Event, answer: Response | None) -> str:
        if event.type in ("response.output_text.delta", "response.refusal.delta"):
            return event.delta if isinstance(event.delta, str) else ""
        if event.type == "response.function_call_arguments.delta":
            self._arguments.setdefault(event.output_index, []).append(str(event.delta or ""))
        elif event.type in ("response.output_item.added", "response.output_item.done") and event.item is not None:
            self._items[event.output_index] = event.item
        elif answer is not None and (answer is event or event.type in _ENDS):
            self._answer = answer
            if not self._items:
                self._items = dict(enumerate(answer.output or ()))
            return "" if self._has_text else "".join(map(_read_text, self._in_order()))
        return ""

    def _in_order(self) -> list[dict[str, Any]]:
        return [item for _, item in sorted(self._items.items())]

    def end(self) -> TurnEnd:
        """The end of the turn; raises `ModelError` when the answer was cut."""
        if self._answer is None:
            raise end_early(self._name)
        self._join_arguments()
        items = self._in_order()
        reason = self._finish_reason()
        calls = [] if reason == "content-filter" else [_read_call(item) for item in items if _is_call(item)]
        return TurnEnd(
            calls,
            "tool-calls" if calls else reason,
            _read_usage(self._answer.usage or UsagePiece()),
            None if _is_plain(items) else {FORMAT: items},
            tuple(image for item in items if (image := _read_image(item)) is not None),
            tuple(item for item in items if item.get("type") not in TOLD and _read_image(item) is None),
        )

    def _join_arguments(self) -> None:
        """Where only fragments came of a call's arguments, they are what there is."""
        for index, pieces in self._arguments.items():
            item = self._items.get(index, {})
            if _is_call(item) and not item.get("arguments"):
                self._items[index] = {**item, "arguments": "".join(pieces)}

    def _finish_reason(self) -> FinishReason:
        if self._answer is not None and self._answer.status == "incomplete":
            details = self._answer.incomplete_details
            return REASONS.get(details.reason or "" if details else "", "other")
        has_refused = any(part.get("type") == "refusal" for item in self._in_order() for part in _read_parts(item))
        return "content-filter" if has_refused else "stop"


def _find_fault(event: Event, answer: Response | None) -> Any:
    if event.error:
        return event.error
    if event.type == "error":
        return {"code": event.code, "message": event.message}
    if answer is not None and (answer.error or answer.status == "failed"):
        return answer.error or {"message": "it failed, and told no more"}
    return None


def _read_status(fault: Any) -> int:
    """The status that an error within an answer would have outside of it."""
    code = str(fault.get("code") or fault.get("type") or "") if isinstance(fault, Mapping) else ""
    if code in ("rate_limit_exceeded", "insufficient_quota"):
        return 429
    return 400 if code.startswith(FAULTS_OF_THE_REQUEST) else 500


def _is_call(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "function_call"


def _read_call(item: Mapping[str, Any]) -> ToolCall:
    arguments = str(item.get("arguments") or "")
    if not arguments and item.get("status") == "incomplete":
        arguments = "{"  # it was cut off before it began: no call without arguments
    return ToolCall(str(item.get("call_id") or ""), str(item.get("name") or ""), arguments)


def _read_image(item: Mapping[str, Any]) -> Image | None:
    """The image of an `image_generation_call`."""
    if item.get("type") != "image_generation_call" or not isinstance(item.get("result"), str):
        return None
    return Image(item["result"], f"image/{item.get('output_format') or 'png'}")


def _read_parts(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = item.get("content")
    return content if item.get("type") == "message" and isinstance(content, list) else []


def _read_text(item: Mapping[str, Any]) -> str:
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in _read_parts(item))


def _is_plain(items: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the turn is a text and calls after it, which a message says as well."""
    return all(
        item.keys() <= PLAIN_CALL
        if _is_call(item)
        else place == 0
        and item.keys() <= PLAIN_MESSAGE
        and all(part.get("type") == "output_text" and not part.get("annotations") for part in _read_parts(item))
        for place, item in enumerate(items)
    )


def _read_usage(usage: UsagePiece) -> Usage:
    prompt, completion = usage.input_tokens or 0, usage.output_tokens or 0
    cached = usage.input_tokens_details.cached_tokens if usage.input_tokens_details else None
    reasoning = usage.output_tokens_details.reasoning_tokens if usage.output_tokens_details else None
    return Usage(prompt, completion, usage.total_tokens or prompt + completion, cached or 0, reasoning or 0)
