"""Models, tools and errors in the words of a recording, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime import errors
from runtime.ai.contracts import Image, Message, ModelRequest, Text, Tool, ToolCall, ToolResult, TurnEnd, Usage
from runtime.errors import Error
from runtime.mcp.contracts import ServerInfo


def spell_request(request: ModelRequest, tools: Sequence[Any]) -> dict[str, Any]:
    """What is asked of a model; `tools` are those of the request, spelled."""
    return {
        "toolChoice": request.tool_choice,
        "options": msgspec.to_builtins(request.options),
        "tools": tools,
        "messages": [_spell_message(message) for message in request.messages],
    }


def spell_tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Tools as a model or a provider's list has them."""
    return [_without_empty(msgspec.to_builtins(tool), "annotations") for tool in tools]


def read_tools(spelled: Sequence[Mapping[str, Any]]) -> list[Tool]:
    return [msgspec.convert(tool, Tool) for tool in spelled]


def _spell_message(message: Message) -> dict[str, Any]:
    spelled: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(message, wire={}))
    return spelled


def spell_end(end: TurnEnd) -> dict[str, Any]:
    """The end of a model's turn."""
    spelled: dict[str, Any] = {
        "toolCalls": [msgspec.to_builtins(call) for call in end.tool_calls],
        "finishReason": end.finish_reason,
        "usage": {name: value for name, value in msgspec.to_builtins(end.usage).items() if value},
        "providerData": msgspec.to_builtins(end.provider_data),
        "images": msgspec.to_builtins(end.images),
        "rest": msgspec.to_builtins(end.rest),
    }
    return {name: value for name, value in spelled.items() if value}


def read_end(answer: Mapping[str, Any]) -> TurnEnd:
    return TurnEnd(
        [msgspec.convert(call, ToolCall) for call in answer.get("toolCalls", ())],
        answer["finishReason"],
        msgspec.convert(answer.get("usage", {}), Usage),
        answer.get("providerData"),
        tuple(msgspec.convert(answer.get("images", ()), list[Image])),
        tuple(answer.get("rest", ())),
    )


def spell_result(result: Any) -> dict[str, Any]:
    """What a provider's tool gave: parts apart from JSON values that only look like some."""
    rest = result.rest if isinstance(result, ToolResult) else ()
    output = result.output if isinstance(result, ToolResult) else result
    if isinstance(output, (Text, Image)):
        output = [output]
    is_parts = isinstance(output, (list, tuple)) and output and all(isinstance(part, (Text, Image)) for part in output)
    spelled = {"parts" if is_parts else "output": msgspec.to_builtins(output), "rest": msgspec.to_builtins(rest)}
    return _without_empty(spelled, "rest")


def read_result(spelled: Mapping[str, Any]) -> ToolResult:
    rest = spelled.get("rest", [])
    if "parts" in spelled:
        return ToolResult([msgspec.convert(part, Text | Image) for part in spelled["parts"]], rest)
    return ToolResult(spelled["output"], rest)


def spell_error(error: Error) -> dict[str, Any]:
    spelled = {
        "type": type(error).__name__,
        "code": error.code,
        "message": error.message,
        "resource": error.resource,
        "hint": error.hint,
        "details": msgspec.to_builtins(error.details),
    }
    return {name: value for name, value in spelled.items() if value}


def read_error(spelled: Mapping[str, Any]) -> Error:
    """The error that was recorded, of the same class where it is one of the runtime's own."""
    cls = getattr(errors, str(spelled["type"]), Error)
    if not (isinstance(cls, type) and issubclass(cls, Error)) or cls is errors.ManifestError:
        cls = Error
    return cls(
        spelled.get("message", ""),
        code=spelled["code"],
        resource=spelled.get("resource"),
        hint=spelled.get("hint"),
        details=spelled.get("details"),
    )


def spell_server(server: ServerInfo | None) -> dict[str, Any] | None:
    """A server as it introduced itself; None for one that is not there."""
    if server is None:
        return None
    return {
        "name": server.name,
        "version": server.version,
        "protocolVersion": server.protocol_version,
        "capabilities": msgspec.to_builtins(server.capabilities),
        "instructions": server.instructions,
    }


def read_server(spelled: Mapping[str, Any] | None) -> ServerInfo | None:
    if spelled is None:
        return None
    names = ("name", "version", "protocolVersion", "capabilities", "instructions")
    return ServerInfo(*(spelled[name] for name in names))


def _without_empty(spelled: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in spelled.items() if value or name not in names}


def split_pieces(text: str, pieces: str | None) -> list[str]:
    """The text as it came: `pieces` are the lengths. Text that was edited since comes as one piece."""
    lengths = [int(length) for length in pieces.split()] if pieces else [len(text)]
    if sum(lengths) != len(text):
        lengths = [len(text)]
    split, at = [], 0
    for length in lengths:
        split.append(text[at : at + length])
        at += length
    return split


def join_pieces(pieces: Sequence[str]) -> dict[str, Any]:
    """`{text, pieces}` of what a model said; nothing where it said nothing."""
    if not pieces:
        return {}
    lengths = {"pieces": " ".join(str(len(piece)) for piece in pieces)} if len(pieces) > 1 else {}
    return {"text": "".join(pieces), **lengths}
