"""A request of the Chat Completions API as the inputs and the wishes for a run of an agent.

https://platform.openai.com/docs/api-reference/chat/create. A field that cannot be met is refused: none that would
change the answer is read over.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from runtime.ai.contracts import Tool
from runtime.ai.output import OutputRule
from runtime.ai.wishes import Wishes
from runtime.serve.chat_messages import read_messages
from runtime.serve.handed_turns import HandedTurns
from runtime.serve.responses import BadRequest

READ_OVER = (
    *("metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "store", "user"),
)
"""Fields that are no matter of the answer."""

NEUTRAL: Mapping[str, Any] = {
    "audio": None,
    "frequency_penalty": 0,
    "function_call": None,
    "functions": [],
    "logit_bias": {},
    "logprobs": False,
    "modalities": ["text"],
    "parallel_tool_calls": True,
    "prediction": None,
    "presence_penalty": 0,
    "reasoning_effort": None,
    "seed": None,
    "top_logprobs": 0,
    "verbosity": None,
    "web_search_options": None,
}
"""Fields that cannot be met, with the value that asks for nothing."""

NAME = r"^[A-Za-z0-9_-]{1,64}$"


class StreamOptions(Struct, forbid_unknown_fields=True):
    """`include_usage` asks for a last chunk with the tokens of the run."""

    include_usage: bool = False
    include_obfuscation: bool = False


class Function(Struct, forbid_unknown_fields=True):
    """A tool that the caller carries out. Arguments are held against the schema, `strict` or not."""

    name: Annotated[str, Meta(pattern=NAME)]
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionTool(Struct, forbid_unknown_fields=True, tag_field="type", tag="function"):
    """A tool of the caller; there are no others."""

    function: Function


class ChatRequest(Struct):
    """The fields that are met."""

    model: str
    messages: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: list[FunctionTool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    stop: str | Annotated[list[str], Meta(max_length=4)] | None = None


def check_fields(body: Mapping[str, Any], known: type[Struct]) -> None:
    """Raises BadRequest for a field that is unknown, or wants what is not to be had."""
    for name, value in body.items():
        if name in known.__struct_fields__ or name in READ_OVER or value is None:
            continue
        if name not in NEUTRAL:
            raise BadRequest(f"there is no field `{name}`", param=name)
        if value != NEUTRAL[name]:
            hint = "what the model is asked with is set by `options` on the agent"
            raise BadRequest(f"`{name}` cannot be met here", hint=hint, param=name)


def read_request(body: Mapping[str, Any]) -> ChatRequest:
    """The body of a request; raises BadRequest."""
    check_fields(body, ChatRequest)
    try:
        request = msgspec.convert(dict(body), ChatRequest)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the body does not fit: {error}") from error
    if request.n not in (None, 1):
        raise BadRequest("`n` can only be 1: a run has one answer", param="n")
    if request.stream_options is not None and not request.stream:
        raise BadRequest("`stream_options` is for streams alone", param="stream_options")
    return request


def read_inputs(request: ChatRequest, system: str, turns: HandedTurns) -> dict[str, Any]:
    """The inputs for an agent whose manifest has the text `system`, which stays first. Raises BadRequest."""
    texts, rest = read_messages(request.messages, request.model, turns)
    if not rest:
        raise BadRequest("`messages` has no message of a user", param="messages")
    inputs: dict[str, Any] = {"messages": rest}
    if texts:
        inputs["system"] = "\n\n".join(filter(None, (system, *texts)))
    return inputs


def read_wishes(request: ChatRequest) -> Wishes | None:
    """What the request wants beside an answer to its messages; None where it is nothing. Raises BadRequest."""
    stop = [request.stop] if isinstance(request.stop, str) else request.stop
    limit = request.max_completion_tokens or request.max_tokens
    options = {"temperature": request.temperature, "topP": request.top_p, "maxTokens": limit, "stop": stop or None}
    wishes = Wishes(
        tools=[make_tool(tool.function) for tool in request.tools or ()],
        tool_choice=_read_choice(request.tool_choice),
        options={name: value for name, value in options.items() if value is not None},
        output=_read_format(request.response_format),
    )
    return None if wishes == Wishes() else wishes


def make_tool(function: Any) -> Tool:
    """A function of either API as a tool."""
    parameters = function.parameters or {"type": "object", "properties": {}}
    return Tool(function.name, function.description or "", parameters)


def _read_choice(choice: str | Mapping[str, Any] | None) -> str:
    if choice is None:
        return ""
    if isinstance(choice, str):
        if choice in ("auto", "none", "required"):
            return choice
    elif choice.get("type") == "function" and isinstance(choice.get("function"), Mapping):
        name = choice["function"].get("name")
        if isinstance(name, str) and name:
            return name
    raise BadRequest("`tool_choice` has to be auto, none, required, or one function by its name", param="tool_choice")


def _read_format(form: Mapping[str, Any] | None) -> OutputRule | None:
    kind = (form or {"type": "text"}).get("type")
    if form is None or kind == "text":
        return None
    if kind == "json_object":
        return OutputRule({"type": "object"})
    outer = form.get("json_schema")
    schema = outer.get("schema") if isinstance(outer, Mapping) else None
    if kind == "json_schema" and isinstance(schema, Mapping):
        return make_rule(schema)
    raise BadRequest(
        "`response_format` has to be of the type text, json_object, or json_schema with a schema",
        param="response_format",
    )


def make_rule(schema: Mapping[str, Any]) -> OutputRule:
    """The form of an answer by a caller's schema; raises BadRequest where a part of it says nothing."""
    rule = OutputRule(schema)
    if rule.notes:
        raise BadRequest(f"a part of the schema of the answer cannot be checked: {rule.notes[0]}")
    return rule
