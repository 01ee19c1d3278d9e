"""Messages of the Chat Completions API as messages of an agent's conversation."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.serve.handed_turns import HandedTurns, join_results
from runtime.serve.responses import BadRequest

_DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,([A-Za-z0-9+/=\s]+)")


def read_messages(messages: Sequence[Mapping[str, Any]], agent: str, turns: HandedTurns) -> tuple[list[str], list[Any]]:
    """The system texts, and the other messages. Raises BadRequest.

    Turns that were handed to the caller come back as they were, with the caller's results.
    """
    texts: list[str] = []
    rest: list[Any] = []
    names: dict[str, str] = {}
    place = 0
    while place < len(messages):
        message, where = messages[place], f"messages[{place}]"
        place += 1
        read = _read_message(message, where, names)
        if read["role"] == "system":
            texts.append(read["content"])
            continue
        calls = [call["id"] for call in read.get("toolCalls", ())]
        end = next((at for at in range(place, len(messages)) if messages[at].get("role") != "tool"), len(messages))
        turn = turns.find(calls, agent, is_newest=end == len(messages), where=where)
        if turn is None:
            rest.append(read)
            continue
        answers = [_read_message(each, f"messages[{at}]", names) for at, each in enumerate(messages[place:end], place)]
        rest += join_results(turn, {answer["toolCallId"]: answer for answer in answers}, where)
        place = end
    return texts, rest


def _read_message(message: Mapping[str, Any], where: str, names: dict[str, str]) -> dict[str, Any]:
    role, content = message.get("role"), message.get("content")
    if role in ("system", "developer"):
        parts = _read_content(content, where)
        return {"role": "system", "content": parts if isinstance(parts, str) else _join(parts, where)}
    if role == "user":
        return {"role": "user", "content": _read_content(content, where)}
    if role == "assistant":
        for field in ("audio", "function_call"):
            if message.get(field):
                raise BadRequest(f"`{where}.{field}` cannot be taken", param=where)
        calls = [_read_call(call, where, names) for call in _list(message.get("tool_calls"), where)]
        return {"role": "assistant", "content": _read_content(content, where), "toolCalls": calls}
    if role == "tool":
        name = str(message.get("tool_call_id", ""))
        content = _read_content(content, where)
        return {"role": "tool", "content": content, "toolCallId": name, "name": names.get(name, "")}
    raise BadRequest(f"`{where}.role` has to be system, developer, user, assistant or tool", param=where)


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
        return read_image(part["image_url"].get("url"), where)
    raise BadRequest(f"a part of `{where}.content` has to be `text` or `image_url`", param=where)


def read_image(url: Any, where: str) -> dict[str, Any]:
    """An image that its address holds; raises BadRequest for one that would have to be fetched."""
    found = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if found is None:
        raise BadRequest(f"an image of `{where}` has to be a data URL: nothing is fetched for a caller", param=where)
    return {"type": "image", "data": "".join(found[2].split()), "mediaType": found[1]}


def _read_call(call: Any, where: str, names: dict[str, str]) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise BadRequest(f"a call of `{where}.tool_calls` has to have a function with a name", param=where)
    names[str(call.get("id", ""))] = function["name"]
    return {"id": str(call.get("id", "")), "name": function["name"], "arguments": function.get("arguments", "{}")}


def _list(value: Any, where: str) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadRequest(f"`{where}` has something else where a list is expected", param=where)
    return value


def _join(parts: Sequence[Mapping[str, Any]], where: str) -> str:
    if any(part["type"] != "text" for part in parts):
        raise BadRequest(f"`{where}` can only have text", param=where)
    return "\n".join(part["text"] for part in parts)
