"""A request of the Gemini API as bytes.

https://ai.google.dev/api/generate-content; what is refused beyond that was observed as the API's own answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runtime.ai.content import EMPTY, flatten
from runtime.ai.contracts import Image, Message, ModelRequest, Part, Text, ToolCall
from runtime.ai.formats.encoding import encode
from runtime.ai.provider import as_object

FORMAT = "gemini"
"""The key of `provider_data`, and the tool format."""

OURS = frozenset(("contents", "tools", "systemInstruction", "model"))
"""Fields of a request that no option may set."""

BESIDE = frozenset(("cachedContent", "labels", "safetySettings", "serviceTier", "store", "toolConfig"))
"""Options that stand beside `generationConfig`; any other is part of it."""

IMAGES = {f"image/{name}": f"image/{name}" for name in ("png", "jpeg", "webp", "heic", "heif")}
IMAGES["image/jpg"] = "image/jpeg"
"""What the API takes as an image, by what tools call it."""

UNSIGNED = "skip_thought_signature_validator"
"""The signature, by the API's documentation, of a call that another model made."""


class Dialect:
    """What differs between the generations of models; `wire` and `images` are the keys of `Message.wire`.

    Since Gemini 3 a tool's result holds its images, and calls must be signed. A model before refuses such images: they
    follow the results, in the same content.
    """

    def __init__(self, model: str) -> None:
        name = model.rpartition("/")[2]
        self.is_old = name.startswith(("gemini-1", "gemini-2", "gemma", "learnlm"))
        self.wire = "gemini-2" if self.is_old else "gemini-3"
        self.images = f"{self.wire}-images"


def encode_request(dialect: Dialect, options: Mapping[str, Any], request: ModelRequest, tool_block: bytes) -> bytes:
    """The body of a request; `options` in camelCase, where null means that the field is not sent."""
    given = {name: value for name, value in options.items() if value is not None and name not in OURS}
    fields = {name: given.pop(name) for name in BESIDE if name in given}
    config = given.pop("generationConfig", None)
    given = {**config, **given} if isinstance(config, Mapping) else given
    if given:
        fields["generationConfig"] = given
    if not tool_block:
        fields.pop("toolConfig", None)
    elif request.tool_choice != "auto":
        choice = {"functionCallingConfig": _encode_choice(request.tool_choice)}
        fields["toolConfig"] = {**fields.get("toolConfig", {}), **choice}
    head = encode(fields)[1:-1]
    system, contents = _encode_messages(request.messages, dialect)
    return b"".join(
        (
            b"{",
            head + b"," if head else b"",
            b'"tools":' + tool_block + b"," if tool_block else b"",
            b'"systemInstruction":{"parts":[' + b",".join(system) + b"]}," if system else b"",
            b'"contents":[',
            b",".join(contents),
            b"]}",
        )
    )


def _encode_choice(choice: str) -> dict[str, Any]:
    if choice == "none":
        return {"mode": "NONE"}
    return {"mode": "ANY"} if choice == "required" else {"mode": "ANY", "allowedFunctionNames": [choice]}


def _encode_messages(messages: Sequence[Message], dialect: Dialect) -> tuple[list[bytes], list[bytes]]:
    """The parts of the system text, and the contents; the results of one turn share one of them."""
    system: list[bytes] = []
    contents: list[bytes] = []
    results: list[bytes] = []
    images: list[bytes] = []
    turn: Message | None = None
    for message in messages:
        wire = message.wire.get(dialect.wire)
        if wire is None:
            wire = message.wire[dialect.wire] = _encode_message(message, turn, dialect)
        if message.role == "tool":
            results.append(wire)
            if dialect.images in message.wire:
                images.append(message.wire[dialect.images])
            continue
        if results:
            contents.append(_join_results(results + images))
            results, images = [], []
        if message.role == "assistant":
            turn = message
        if wire:
            (system if message.role == "system" else contents).append(wire)
    if results:
        contents.append(_join_results(results + images))
    return system, contents


def _join_results(parts: Iterable[bytes]) -> bytes:
    return b'{"role":"user","parts":[' + b",".join(parts) + b"]}"


def _encode_message(message: Message, turn: Message | None, dialect: Dialect) -> bytes:
    """A content, or the part of a system text or of a tool's result; nothing for a message with nothing in it."""
    if message.role == "tool":
        return _encode_result(message, turn, dialect)
    if message.role == "system":
        return b",".join(encode(part) for part in _encode_parts(message.content) if "text" in part)
    if message.role == "user":
        role, parts = "user", _encode_parts(message.content)
    else:
        role, parts = "model", _encode_turn(message, dialect)
    return encode({"role": role, "parts": parts}) if parts else b""


def read_own_parts(message: Message) -> list[dict[str, Any]] | None:
    """The parts of a turn that a model behind this API took, as it gave them."""
    data = message.provider_data
    parts = data.get(FORMAT) if isinstance(data, Mapping) else None
    return parts if isinstance(parts, list) else None


def read_call(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """The call that a part is, if it is one."""
    call = part.get("functionCall")
    return call if isinstance(call, dict) else None


def _encode_turn(message: Message, dialect: Dialect) -> list[dict[str, Any]]:
    """The model's own parts as they came, where there are any; without calls that nobody answered.

    Thoughts alone make no content.
    """
    parts = read_own_parts(message)
    if parts is None:
        return _encode_parts(message.content) + _encode_calls(message.tool_calls, dialect)
    left = len(message.tool_calls)
    kept = []
    for part in parts:
        if read_call(part) is not None:
            left -= 1
            if left < 0:
                continue
        kept.append(part)
    return kept if any(not part.get("thought") for part in kept) else []


def _encode_calls(calls: Sequence[ToolCall], dialect: Dialect) -> list[dict[str, Any]]:
    """Calls that another model made: as with the API's own, the first of a turn is the one that is signed."""
    parts: list[dict[str, Any]] = [
        {"functionCall": {"id": call.id, "name": call.name, "args": as_object(call.arguments)}} for call in calls
    ]
    if parts and not dialect.is_old:
        parts[0]["thoughtSignature"] = UNSIGNED
    return parts


def _encode_result(message: Message, turn: Message | None, dialect: Dialect) -> bytes:
    content = message.content
    text = flatten(content)
    response: dict[str, Any] = {"error" if message.is_error else "output": text if text.strip() else EMPTY}
    result: dict[str, Any] = {"name": message.name, "response": response}
    name = _find_id(message.tool_call_id, turn)
    if name:
        result = {"id": name, **result}
    images = [] if isinstance(content, str) else [part for part in content if _can_show(part)]
    if images and dialect.is_old:
        message.wire[dialect.images] = b",".join(encode(_encode_part(image)) for image in images)
    elif images:
        result["parts"] = [_encode_part(image) for image in images]
    return encode({"functionResponse": result})


def _find_id(name: str, turn: Message | None) -> str:
    """The id that the model gave the call, and none where it gave none: results then count by their order."""
    parts = None if turn is None else read_own_parts(turn)
    if turn is None or parts is None:
        return name
    own = [call for part in parts if (call := read_call(part)) is not None]
    pairs = zip(turn.tool_calls, own, strict=False)
    return next((str(given.get("id") or "") for call, given in pairs if call.id == name), name)


def _encode_parts(content: str | Sequence[Part]) -> list[dict[str, Any]]:
    """The parts of a content, empty texts left out: the API refuses them."""
    parts = [Text(content)] if isinstance(content, str) else content
    return [_encode_part(part) for part in parts if isinstance(part, Image) or part.text]


def _encode_part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text}
    if not _can_show(part):
        return {"text": f"[Image: {part.media_type}]"}
    return {"inlineData": {"mimeType": IMAGES[part.media_type.lower()], "data": part.data}}


def _can_show(part: Part) -> bool:
    return isinstance(part, Image) and part.media_type.lower() in IMAGES
