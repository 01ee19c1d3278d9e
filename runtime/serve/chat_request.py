"""A request of the Chat Completions API as the inputs of an agent.

https://platform.openai.com/docs/api-reference/chat/create. The manifest decides on sampling and limits, so that
`temperature`, `max_tokens` and the like are read over.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from runtime.serve.responses import BadRequest

_DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,([A-Za-z0-9+/=\s]+)")


class StreamOptions(Struct):
    """`include_usage` asks for a last chunk with the tokens of the run."""

    include_usage: bool = False


class ChatRequest(Struct):
    """The fields that matter; others are read over."""

    model: str
    messages: list[dict[str, Any]]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    response_format: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None


def read_inputs(request: ChatRequest, system: str) -> dict[str, Any]:
    """The inputs for an agent whose manifest has the text `system`, which stays first. Raises BadRequest."""
    if request.n not in (None, 1):
        raise BadRequest("`n` can only be 1: a run has one answer")
    if (request.response_format or {}).get("type", "text") != "text":
        raise BadRequest("`response_format` can only be text", hint="`output` on the agent makes its answers JSON")
    if request.tools:
        raise BadRequest("`tools` of the caller are not taken: the agent has those of its manifest")
    names: dict[str, str] = {}
    messages = [_read_message(message, place, names) for place, message in enumerate(request.messages)]
    texts = [message["content"] for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    if not rest:
        raise BadRequest("`messages` has no message of a user")
    inputs: dict[str, Any] = {"messages": rest}
    if texts:
        inputs["system"] = "\n\n".join(filter(None, (system, *texts)))
    return inputs


def _read_message(message: Mapping[str, Any], place: int, names: dict[str, str]) -> dict[str, Any]:
    role, content = message.get("role"), message.get("content")
    where = f"messages[{place}]"
    if role in ("system", "developer"):
        parts = _read_content(content, where)
        return {"role": "system", "content": parts if isinstance(parts, str) else _join(parts, where)}
    if role == "user":
        return {"role": "user", "content": _read_content(content, where)}
    if role == "assistant":
        calls = [_read_call(call, where, names) for call in _list(message.get("tool_calls"), where)]
        return {"role": "assistant", "content": _read_content(content, where), "toolCalls": calls}
    if role == "tool":
        name = str(message.get("tool_call_id", ""))
        content = _read_content(content, where)
        return {"role": "tool", "content": content, "toolCallId": name, "name": names.get(name, "")}
    raise BadRequest(f"`{where}.role` has to be system, developer, user, assistant or tool")


def _read_content(content: Any, where: str) -> str | list[dict[str, Any]]:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return [_read_part(part, where) for part in _list(content, where)]


def _read_part(part: Any, where: str) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind in ("text", "refusal") and isinstance(part.get(kind), str):
        return {"type": "text", "text": part[kind]}
    if kind == "image_url" and isinstance(part.get("image_url"), Mapping):
        found = _DATA_URL.fullmatch(str(part["image_url"].get("url", "")))
        if found is not None:
            return {"type": "image", "data": "".join(found[2].split()), "mediaType": found[1]}
        raise BadRequest(f"an image of `{where}` has to be a data URL: nothing is fetched for a caller")
    raise BadRequest(f"a part of `{where}.content` has to be `text` or `image_url`")


def _read_call(call: Any, where: str, names: dict[str, str]) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise BadRequest(f"a call of `{where}.tool_calls` has to have a function with a name")
    names[str(call.get("id", ""))] = function["name"]
    return {"id": str(call.get("id", "")), "name": function["name"], "arguments": function.get("arguments", "{}")}


def _list(value: Any, where: str) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadRequest(f"`{where}` has something else where a list is expected")
    return value


def _join(parts: Sequence[Mapping[str, Any]], where: str) -> str:
    if any(part["type"] != "text" for part in parts):
        raise BadRequest(f"`{where}` can only have text")
    return "\n".join(part["text"] for part in parts)
