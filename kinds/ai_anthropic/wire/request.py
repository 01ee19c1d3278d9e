"""A request of the Messages API as bytes.

https://docs.anthropic.com/en/api/messages; what is refused beyond that was observed as the API's own answer.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runtime.ai.content import EMPTY, flatten
from runtime.ai.contracts import Image, Message, ModelRequest, Part, Text, ToolCall
from runtime.ai.formats.encoding import encode
from runtime.ai.provider import as_object, snake_case

FORMAT = "anthropic"
"""The key of `Message.wire` and of `provider_data`, and the tool format."""

OURS = frozenset(("messages", "tools", "system", "stream"))
"""Fields of a request that no option may set."""

MAX_TOKENS = 8192
"""The API demands a limit; this one every model in service takes."""

IMAGES = {f"image/{name}": f"image/{name}" for name in ("png", "jpeg", "gif", "webp")} | {"image/jpg": "image/jpeg"}
"""What the API takes as an image, by what tools call it."""

THOUGHTS = ("thinking", "redacted_thinking")

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def encode_request(
    model: str,
    options: Mapping[str, Any],
    request: ModelRequest,
    tool_block: bytes,
    cache: Mapping[str, str] | None = None,
    so_far: Sequence[Mapping[str, Any]] = (),
) -> bytes:
    """The body of a request; `options` in camelCase, where null means that the field is not sent.

    `cache` is the `cache_control` that the tools, the system text and the whole conversation get, each of which can
    then be read from the prompt cache alone. `so_far` are the blocks of a turn that the API paused.
    """
    fields: dict[str, Any] = {"model": model, "max_tokens": MAX_TOKENS}
    if cache is not None:
        fields["cache_control"] = cache
    fields |= {snake_case(name): value for name, value in options.items()}
    fields["tool_choice"] = _encode_choice(request.tool_choice, fields.get("tool_choice")) if tool_block else None
    head = encode({name: value for name, value in fields.items() if value is not None and name not in OURS})
    mark = b"" if cache is None else b',"cache_control":' + encode(cache)
    system, messages = _encode_messages(request.messages)
    if so_far:
        messages.append(encode({"role": "assistant", "content": so_far}))
    return b"".join(
        (
            head[:-1],
            b',"stream":true',
            b',"tools":' + _mark_last(tool_block, mark) if tool_block else b"",
            b',"system":' + _mark_last(b"[" + b",".join(system) + b"]", mark) if system else b"",
            b',"messages":[',
            b",".join(messages),
            b"]}",
        )
    )


def _encode_choice(choice: str, option: Any) -> Any:
    """The run's choice; whether calls may be parallel stays with the option."""
    if choice == "auto":
        return option
    if choice == "none":
        return {"type": "none"}
    wire: dict[str, Any] = {"type": "any"} if choice == "required" else {"type": "tool", "name": choice}
    if isinstance(option, Mapping) and "disable_parallel_tool_use" in option:
        wire["disable_parallel_tool_use"] = option["disable_parallel_tool_use"]
    return wire


def _mark_last(blocks: bytes, mark: bytes) -> bytes:
    """A list of objects as JSON text, with one more field in its last object."""
    return blocks[:-2] + mark + b"}]" if mark else blocks


def _encode_messages(messages: Sequence[Message]) -> tuple[list[bytes], list[bytes]]:
    """The blocks of the system text, and the messages; the results of one turn share one of them."""
    system: list[bytes] = []
    wires: list[bytes] = []
    results: list[bytes] = []
    for message in messages:
        wire = message.wire.get(FORMAT)
        if wire is None:
            wire = message.wire[FORMAT] = _encode_message(message)
        if message.role == "tool":
            results.append(wire)
            continue
        if results:
            wires.append(_join_results(results))
            results = []
        if wire:
            (system if message.role == "system" else wires).append(wire)
    if results:
        wires.append(_join_results(results))
    return system, wires


def _join_results(results: Iterable[bytes]) -> bytes:
    return b'{"role":"user","content":[' + b",".join(results) + b"]}"


def _encode_message(message: Message) -> bytes:
    """A message, or the block of a system text or of a tool's result; nothing for one with nothing in it."""
    if message.role == "tool":
        return encode(_encode_result(message))
    if message.role == "system":
        blocks = _encode_parts(message.content)
        return b",".join(encode(block) for block in blocks if block["type"] == "text")
    if message.role == "assistant":
        blocks = _encode_turn(message)
    elif isinstance(message.content, str) and message.content.strip():
        return encode({"role": "user", "content": message.content})
    else:
        blocks = _encode_parts(message.content)
    return encode({"role": message.role, "content": blocks}) if blocks else b""


def _encode_turn(message: Message) -> list[dict[str, Any]]:
    """The model's own blocks as they came, where there are any; without calls that nobody answered, or blank text.

    Thoughts alone make no message: the API refuses a turn that ends with them.
    """
    data = message.provider_data
    blocks = data.get(FORMAT) if isinstance(data, Mapping) else None
    if not isinstance(blocks, list):
        # a turn has no images here: that of another model names them
        return _encode_parts(flatten(message.content)) + [_encode_call(call) for call in message.tool_calls]
    calls = iter(message.tool_calls)
    kept = []
    for block in blocks:
        if block.get("type") == "tool_use":
            call = next(calls, None)
            if call is None:
                continue
            block = {**block, "id": _clean_id(call.id)}
        elif block.get("type") == "text" and not block["text"].strip():
            continue
        kept.append(block)
    return kept if any(block.get("type") not in THOUGHTS for block in kept) else []


def _encode_call(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": _clean_id(call.id), "name": call.name, "input": as_object(call.arguments)}


def _clean_id(name: str) -> str:
    """A call's id in the API's alphabet: other providers' models give them too."""
    return _ILLEGAL.sub("_", name)


def _encode_result(message: Message) -> dict[str, Any]:
    content: Any = message.content
    if not isinstance(content, str):
        content = _encode_parts(content, is_error=message.is_error)
    elif not content.strip():
        content = ""
    result = {"type": "tool_result", "tool_use_id": _clean_id(message.tool_call_id), "content": content or EMPTY}
    return result | {"is_error": True} if message.is_error else result


def _encode_parts(content: str | Sequence[Part], *, is_error: bool = False) -> list[dict[str, Any]]:
    """The blocks of a content, blank texts left out: the API refuses them. An error's are texts alone, it demands."""
    parts = [Text(content)] if isinstance(content, str) else content
    return [
        _encode_image(part, is_error) if isinstance(part, Image) else {"type": "text", "text": part.text}
        for part in parts
        if isinstance(part, Image) or part.text.strip()
    ]


def _encode_image(image: Image, is_error: bool) -> dict[str, Any]:
    media_type = IMAGES.get(image.media_type.lower())
    if is_error or media_type is None:
        return {"type": "text", "text": f"[Image: {image.media_type}]"}
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": image.data}}
