"""Sampling: a server asks for an answer of our model (`sampling/createMessage`); only for clients that declare one."""

from collections.abc import Mapping
from typing import Any

from runtime.ai.contracts import Image, Message, Model, ModelRequest, Part, Text, TextDelta
from runtime.errors import ModelError
from runtime.mcp.connection import INTERNAL_ERROR, Refusal
from runtime.mcp.contracts import Offer
from runtime.mcp.quoting import quote_line

INVALID_PARAMS = -32602
MESSAGES_LIMIT = 200
OPTIONS = {"maxTokens": "maxTokens", "temperature": "temperature", "stopSequences": "stop"}
"""A server's wishes in the words of `runtime.ai.common_options`."""
STOP_REASONS = {"stop": "endTurn", "length": "maxTokens"}


def offer_sampling(model: Model, name: str) -> Offer:
    """What answers a server's wish for an answer of `model`; the server sees `name` as the model's."""

    async def answer(params: Mapping[str, Any]) -> Mapping[str, Any]:
        request = ModelRequest(read_messages(params), common=read_options(params, model))
        said: list[str] = []
        reason = "endTurn"
        try:
            async for event in model.generate(request):
                if isinstance(event, TextDelta):
                    said.append(event.text)
                else:
                    reason = STOP_REASONS.get(event.finish_reason, event.finish_reason)
        except ModelError as error:
            raise Refusal(INTERNAL_ERROR, f"the model failed ({error.code})") from error
        content = {"type": "text", "text": "".join(said)}
        return {"role": "assistant", "content": content, "model": name, "stopReason": reason}

    return Offer("sampling", {}, "sampling/createMessage", answer)


def read_messages(params: Mapping[str, Any]) -> list[Message]:
    """The server's messages in our words; raises `Refusal` for what a model cannot be given."""
    wanted = params.get("messages")
    if type(wanted) is not list or not 0 < len(wanted) <= MESSAGES_LIMIT:
        raise Refusal(INVALID_PARAMS, f"`messages` must be a list of 1 to {MESSAGES_LIMIT}")
    system = params.get("systemPrompt")
    messages = [Message("system", system)] if type(system) is str and system else []
    for message in wanted:
        role = message.get("role") if type(message) is dict else None
        content = message.get("content") if type(message) is dict else None
        if role not in ("user", "assistant"):
            raise Refusal(INVALID_PARAMS, "a message needs the role `user` or `assistant`")
        blocks = content if type(content) is list else [content]
        messages.append(Message(role, [read_part(block) for block in blocks]))
    return messages


def read_part(block: Any) -> Part:
    fields = block if type(block) is dict else {}
    kind = fields.get("type")
    if kind == "text" and type(fields.get("text")) is str:
        return Text(fields["text"])
    if kind == "image" and type(fields.get("data")) is str and type(fields.get("mimeType")) is str:
        return Image(fields["data"], fields["mimeType"])
    raise Refusal(INVALID_PARAMS, f"content of the kind {quote_line(str(kind), 40)} is not taken")


def read_options(params: Mapping[str, Any], model: Model) -> dict[str, Any]:
    """What the model can be given of the wishes; the others go unheard, as the specification allows a client.

    Raises `Refusal` for a value of another form than the specification's `CreateMessageRequestParams` has.
    """
    taken: Mapping[str, str] = getattr(model, "common_options", {})
    options = {ours: params[theirs] for theirs, ours in OPTIONS.items() if params.get(theirs) is not None}
    for name, value in options.items():
        if not _is_of_form(name, value):
            raise Refusal(INVALID_PARAMS, f"the wish for `{name}` is of another form than MCP has for it")
    return {name: value for name, value in options.items() if name in taken}


def _is_of_form(name: str, value: Any) -> bool:
    if name == "maxTokens":
        return type(value) is int and value > 0
    if name == "temperature":
        return type(value) in (int, float)
    return type(value) is list and all(type(each) is str for each in value)
