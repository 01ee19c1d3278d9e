"""What an agent is asked: checked, and turned into the messages that a run starts with."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from runtime.ai.content import flatten
from runtime.ai.contracts import Image, Message, Part, Text, ToolCall
from runtime.ai.results import repair_text
from runtime.errors import AgentError


class Given(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A closed mapping that the caller gives."""


class GivenCall(Given):
    """A tool call in a message that the caller gives; `arguments` is a JSON value or JSON text."""

    id: str
    name: str
    arguments: Any = None


class GivenMessage(Given):
    """A message that the caller gives: content is text, or parts of `{text}` and `{data, mediaType}`."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] = ""
    tool_calls: Sequence[GivenCall] = ()
    tool_call_id: str = ""
    name: str = ""
    is_error: bool = False
    provider_data: Any = None


class Inputs(Given):
    """The inputs of an agent: `prompt` or `messages`, and what goes before those of the manifest."""

    prompt: str | UnsetType = UNSET
    messages: list[Any] | UnsetType = UNSET
    system: str | UnsetType = UNSET
    options: dict[str, Any] | UnsetType = UNSET


def read_inputs(values: Mapping[str, Any]) -> Inputs:
    """The inputs of a run; raises `AgentError` ERR_AGENT_INPUT."""
    try:
        inputs = msgspec.convert(dict(values), Inputs)
    except msgspec.ValidationError as error:
        raise AgentError(f"the inputs do not fit: {error}", hint=_EXPECTED) from error
    if (inputs.prompt is UNSET) == (inputs.messages is UNSET):
        found = "neither" if inputs.prompt is UNSET else "both"
        raise AgentError(f"the inputs need one of `prompt` and `messages`, and have {found}", hint=_EXPECTED)
    if inputs.messages is not UNSET and not inputs.messages:
        raise AgentError("the inputs have an empty list of `messages`", hint=_EXPECTED)
    return inputs


_EXPECTED = (
    "an agent takes `prompt` (text) or `messages` (a list), and may take `system` (text) and `options` (a mapping)"
)


def start_messages(inputs: Inputs, system: str, additions: Sequence[str] = ()) -> list[Message]:
    """The messages that a run starts with: the system text first, in place of one that the caller's messages have.

    `additions` are put under the system text, whoever gave it; those that it has already, from an earlier run, are not.
    """
    if isinstance(inputs.prompt, str):
        messages = [Message("user", repair_text(inputs.prompt))]
    else:
        given: Sequence[Any] = inputs.messages if isinstance(inputs.messages, list) else ()
        messages = [_read_message(message, place) for place, message in enumerate(given)]
    system = repair_text(inputs.system if isinstance(inputs.system, str) else system)
    has_own = messages[0].role == "system"
    if additions:
        system = system or (flatten(messages[0].content) if has_own else "")
        system = "\n\n".join(filter(None, (system, *(text for text in additions if text not in system))))
    if system:
        messages[: int(has_own)] = [Message("system", system)]
    return messages


def _read_message(given: Any, place: int) -> Message:
    if isinstance(given, Message):  # a library's caller goes on with the messages of an earlier run
        return given
    try:
        fields = msgspec.convert(given, GivenMessage)
        content = _read_content(fields.content)
    except msgspec.ValidationError as error:
        raise AgentError(f"`messages[{place}]` does not fit: {error}", hint=_EXPECTED) from error
    calls = [
        ToolCall(call.id, call.name, call.arguments if isinstance(call.arguments, str) else _encode(call.arguments))
        for call in fields.tool_calls
    ]
    return Message(fields.role, content, calls, fields.tool_call_id, fields.name, fields.is_error, fields.provider_data)


def _read_content(given: str | Sequence[Mapping[str, Any]]) -> str | list[Part]:
    return repair_text(given) if isinstance(given, str) else [_read_part(part) for part in given]


def _read_part(given: Mapping[str, Any]) -> Part:
    if "type" not in given:
        given = {"type": "image" if "data" in given else "text", **given}
    part: Part = msgspec.convert(given, Text | Image)
    return Text(repair_text(part.text)) if isinstance(part, Text) else part


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()
