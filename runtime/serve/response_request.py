"""A request of OpenAI's Responses API in the words of Chat Completions, which the rest then goes by.

https://platform.openai.com/docs/api-reference/responses/create. Nothing is stored, so that nothing can be gone on from.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from runtime.serve.chat_request import READ_OVER as READ_OVER_IN_CHATS
from runtime.serve.chat_request import ChatRequest, Function, read_request
from runtime.serve.responses import BadRequest

READ_OVER = (*READ_OVER_IN_CHATS, "include")
"""Fields that are no matter of the answer."""
NEUTRAL: Mapping[str, Any] = {"background": False, "parallel_tool_calls": True, "truncation": "disabled"}
"""Fields that cannot be met, with the value that asks for nothing."""
TEXTS = ("input_text", "output_text", "text")


class ResponseFunction(Function, forbid_unknown_fields=True, tag_field="type", tag="function"):
    """A tool of the caller; there are no others."""


class ResponseRequest(Struct):
    """The fields that are met."""

    model: str
    input: str | Annotated[list[dict[str, Any]], Meta(min_length=1)]
    instructions: str | None = None
    stream: bool | None = None
    tools: list[ResponseFunction] | None = None
    tool_choice: str | dict[str, Any] | None = None
    text: dict[str, Any] | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: Annotated[int, Meta(ge=1)] | None = None


def read_response(body: Mapping[str, Any]) -> tuple[ResponseRequest, ChatRequest]:
    """The body of a request, as it is and as one of Chat Completions; raises BadRequest."""
    for name, value in body.items():
        if name in ResponseRequest.__struct_fields__ or name in READ_OVER or value is None:
            continue
        if value != NEUTRAL.get(name):
            raise BadRequest(f"`{name}` cannot be met here", param=name)
    try:
        asked = msgspec.convert(dict(body), ResponseRequest)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the body does not fit: {error}") from error
    messages = [{"role": "system", "content": asked.instructions}] if asked.instructions else []
    fields = {
        "model": asked.model,
        "messages": [*messages, *_read_input(asked.input)],
        "stream": asked.stream,
        "tools": [{"type": "function", "function": _without_type(tool)} for tool in asked.tools or ()],
        "tool_choice": _read_choice(asked.tool_choice),
        "response_format": _read_format(asked.text),
        "temperature": asked.temperature,
        "top_p": asked.top_p,
        "max_completion_tokens": asked.max_output_tokens,
    }
    return asked, read_request({name: value for name, value in fields.items() if value is not None})


def _without_type(tool: ResponseFunction) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(tool).items() if name != "type"}


def _read_choice(choice: Any) -> Any:
    if isinstance(choice, Mapping) and choice.get("type") == "function":
        return {"type": "function", "function": {"name": choice.get("name")}}
    return choice


def _read_format(text: Mapping[str, Any] | None) -> Any:
    if text is None:
        return None
    wrong = next((name for name, value in text.items() if name != "format" and value is not None), None)
    if wrong is not None:
        raise BadRequest(f"`text.{wrong}` cannot be met here", param="text")
    form = text.get("format")
    if isinstance(form, Mapping) and form.get("type") == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": form.get("name"), "schema": form.get("schema")}}
    return form


def _read_input(given: str | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    messages: list[dict[str, Any]] = []
    for place, item in enumerate(given):
        kind, where = item.get("type", "message"), f"input[{place}]"
        if kind == "message":
            messages.append({"role": item.get("role"), "content": _read_content(item.get("content"), where)})
        elif kind == "function_call":
            if not (messages and messages[-1]["role"] == "assistant"):
                messages.append({"role": "assistant", "content": None})
            function = {"name": item.get("name"), "arguments": item.get("arguments", "{}")}
            calls = messages[-1].setdefault("tool_calls", [])
            calls.append({"id": item.get("call_id", ""), "type": "function", "function": function})
        elif kind == "function_call_output":
            content = _read_content(item.get("output"), where)
            messages.append({"role": "tool", "tool_call_id": item.get("call_id", ""), "content": content})
        elif kind != "reasoning":  # what a model thought before is no message, and none is told here
            raise BadRequest(f"`{where}` has a type that cannot be taken", param="input")
    return messages


def _read_content(content: Any, where: str) -> Any:
    if not isinstance(content, list):
        return content
    return [_read_part(part, where) for part in content]


def _read_part(part: Any, where: str) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind in TEXTS:
        return {"type": "text", "text": part.get("text")}
    if kind == "refusal":
        return {"type": "refusal", "refusal": part.get("refusal")}
    if kind == "input_image":
        return {"type": "image_url", "image_url": {"url": part.get("image_url")}}
    raise BadRequest(f"a part of `{where}` has to be a text or an image", param="input")
