"""The fields of a script, which `Ai.ScriptedModel` takes.

Expressions in answers see `user` (the last user message), `match` (the groups of the condition on it, by number and by
name), `result` (the newest tool result: an object or list where it is JSON of one, else text) and `results` (those of
all calls of the last turn, in call order).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from runtime.ai.contracts import FinishReason
from runtime.kind import Fields, per_call

SCOPE = per_call("user", "match", "result", "results")


class Condition(Fields):
    """What a request has to look like; texts are regular expressions, found anywhere, upper and lower case alike."""

    user: (
        Annotated[
            str,
            Meta(description="In the last user message; its groups are `match.name` and `match['1']` in expressions."),
        ]
        | UnsetType
    ) = UNSET
    tool_result: (
        Annotated[
            str,
            Meta(
                description="In the newest tool result; a rule without it answers the user, and never a tool's result."
            ),
        ]
        | UnsetType
    ) = UNSET
    system: Annotated[str, Meta(description="In the system text.")] | UnsetType = UNSET
    tools: (
        Annotated[
            Sequence[str],
            Meta(description="Tools that have to be among those offered, named with their prefix.", min_length=1),
        ]
        | UnsetType
    ) = UNSET


class ScriptedCall(Fields):
    """A tool call."""

    name: Annotated[str, Meta(description="The tool, named with its prefix.", min_length=1)]
    arguments: Annotated[
        Mapping[str, Any],
        Meta(
            description="The arguments; expressions see `user`, `match`, `result` and `results`.",
            extra_json_schema=SCOPE,
        ),
    ] = {}
    raw_arguments: (
        Annotated[str, Meta(description="The arguments as text, in place of `arguments`: what a model gets wrong.")]
        | UnsetType
    ) = UNSET
    id: Annotated[str, Meta(description="The call's id; without it one is made of the turn and the place.")] = ""
    allow_unknown: Annotated[
        bool, Meta(description="Call the tool although it is not offered; without it that is an error of the script.")
    ] = False


class ScriptedUsage(Fields):
    """The tokens that an answer is said to cost."""

    prompt_tokens: Annotated[int, Meta(description="Tokens of the request.", ge=0)] = 0
    completion_tokens: Annotated[int, Meta(description="Tokens of the answer.", ge=0)] = 0
    cached_tokens: Annotated[int, Meta(description="Tokens of the request that came from a cache.", ge=0)] = 0
    reasoning_tokens: Annotated[int, Meta(description="Tokens of the answer that were reasoning.", ge=0)] = 0
    cache_write_tokens: Annotated[int, Meta(description="Tokens of the request that were put into a cache.", ge=0)] = 0


class ScriptedError(Fields):
    """A failure of the provider."""

    code: Annotated[
        Literal[
            "ERR_MODEL_HTTP",
            "ERR_MODEL_AUTH",
            "ERR_MODEL_RATE_LIMIT",
            "ERR_MODEL_TIMEOUT",
            "ERR_MODEL_CONNECTION",
            "ERR_MODEL_RESPONSE",
        ],
        Meta(description="What kind of failure it is."),
    ] = "ERR_MODEL_HTTP"
    message: Annotated[str, Meta(description="The provider's words.")] = "the script has an error here"


class ScriptedAnswer(Fields):
    """What the model does in one turn: text, tool calls, or a failure."""

    text: Annotated[
        str,
        Meta(
            description="The text; expressions see `user`, `match`, `result`, `results`, and give text or any JSON.",
            extra_json_schema=SCOPE,
        ),
    ] = ""
    tool_calls: Annotated[Sequence[ScriptedCall], Meta(description="The tool calls, in order.")] = ()
    error: Annotated[ScriptedError, Meta(description="Fail, after the text if there is one.")] | UnsetType = UNSET
    finish_reason: (
        Annotated[FinishReason, Meta(description="Why the turn ends; without it `tool-calls` or `stop`.")] | UnsetType
    ) = UNSET
    usage: Annotated[ScriptedUsage, Meta(description="The tokens that the turn is said to cost.")] = ScriptedUsage()
    delay_ms: Annotated[int, Meta(description="Milliseconds to wait before the answer.", ge=0)] = 0


class ScriptedTurn(ScriptedAnswer):
    """One turn of a script."""

    expect: Annotated[Condition, Meta(description="What the request must look like, or the run fails.")] = Condition()


class ScriptedRule(ScriptedAnswer):
    """An answer to every request that fits."""

    when: Annotated[Condition, Meta(description="The requests that the rule answers.")] = Condition()


def find_pattern_fault(pattern: Any) -> str | None:
    """Why a condition's text is no regular expression; None when it is one."""
    try:
        re.compile(pattern) if isinstance(pattern, str) else None
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return None
