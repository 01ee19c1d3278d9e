"""Playing a script: turns in their order, or the first rule that fits; anything unexpected is an error that says so."""

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, ClassVar

import anyio
import msgspec

from kinds.ai.scripting.conversation import Conversation, split_text
from kinds.ai.scripting.fields import (
    Condition,
    ScriptedAnswer,
    ScriptedCall,
    ScriptedRule,
    ScriptedTurn,
    ScriptedUsage,
    find_pattern_fault,
)
from runtime.ai.common_options import COMMON
from runtime.ai.contracts import ModelRequest, TextDelta, ToolCall, TurnEnd, Usage
from runtime.ai.prices import Prices, add_cost
from runtime.errors import ModelError, StartError
from runtime.kind import Context

LONGEST = 300
"""Characters of what came that an error shows."""


class Script:
    """Has no state: which turn it is follows from the conversation, so any number of runs share it."""

    tool_format = ""
    max_tools = None
    common_options: ClassVar[Mapping[str, str]] = {name: name for name in COMMON}  # a script is what it is under each

    def __init__(
        self,
        context: Context,
        turns: Sequence[ScriptedTurn],
        rules: Sequence[ScriptedRule],
        prices: Prices | msgspec.UnsetType = msgspec.UNSET,
    ) -> None:
        self.name = context.name
        self._context = context
        self._turns = turns
        self._rules = rules
        self._prices = prices
        for condition in (*(turn.expect for turn in turns), *(rule.when for rule in rules)):
            for pattern in (condition.user, condition.tool_result, condition.system):
                fault = find_pattern_fault(pattern)
                if fault is not None:
                    raise StartError(f'"{pattern}" is no regular expression: {fault}', resource=self.name)

    @property
    def summary(self) -> str:
        """What a start tells of it: how long the script is."""
        count, word = (len(self._turns), "turn") if self._turns else (len(self._rules), "rule")
        return f"{count} {word}{'' if count == 1 else 's'}"

    async def generate(self, request: ModelRequest) -> AsyncGenerator[TextDelta | TurnEnd, None]:
        seen = Conversation(request)
        label, answer, match = self._next_turn(seen) if self._turns else self._first_rule(seen)
        if answer.delay_ms:
            await anyio.sleep(answer.delay_ms / 1000)
        scope = seen.scope(match)
        for delta in split_text(self._fill_text(answer.text, scope)):
            yield delta
        if not isinstance(answer.error, msgspec.UnsetType):
            raise ModelError(answer.error.message, code=answer.error.code, resource=self.name)
        calls = [self._fill_call(call, place, label, seen, scope) for place, call in enumerate(answer.tool_calls)]
        reason = answer.finish_reason or ("tool-calls" if calls else "stop")
        yield add_cost(TurnEnd(calls, reason, _usage(answer.usage)), self._prices)

    def _next_turn(self, seen: Conversation) -> tuple[str, ScriptedAnswer, dict[str, str]]:
        count = len(self._turns)
        if seen.turn > count:
            raise self._mismatch(
                f"the script has {count} turn{'s' if count > 1 else ''}, and the model is asked for one more",
                seen,
            )
        turn = self._turns[seen.turn - 1]
        label = f"turn {seen.turn}"
        match, fault = _meet(turn.expect, seen)
        if fault:
            raise self._mismatch(f"{label} {fault}", seen)
        return label, turn, match

    def _first_rule(self, seen: Conversation) -> tuple[str, ScriptedAnswer, dict[str, str]]:
        faults = []
        for place, rule in enumerate(self._rules, 1):
            match, fault = _meet(rule.when, seen)
            if not fault and seen.result is not None and not rule.when.tool_result:
                fault = "has no condition on the tool's result that came"
            if not fault:
                return f"rule {place}", rule, match
            faults.append(f"rule {place} {fault}")
        raise self._mismatch(f"no rule fits: {'; '.join(faults)}", seen)

    def _fill_text(self, text: Any, scope: dict[str, Any]) -> str:
        value = self._context.evaluate(text, scope)
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()

    def _fill_call(
        self, call: ScriptedCall, place: int, label: str, seen: Conversation, scope: dict[str, Any]
    ) -> ToolCall:
        if call.name not in seen.tools and not call.allow_unknown:
            raise self._mismatch(f'{label} calls the tool "{call.name}", which is not offered', seen)
        raw = call.raw_arguments
        if not isinstance(raw, str):
            raw = msgspec.json.encode(self._context.evaluate(call.arguments, scope)).decode()
        return ToolCall(call.id or f"call_{seen.turn}_{place}", call.name, raw)

    def _mismatch(self, message: str, seen: Conversation) -> ModelError:
        came = [f"user text: {_quote(seen.user)}"]
        if seen.result is not None:
            came.append(f"newest tool result: {_quote(seen.result)}")
        came.append(f"tools offered: {', '.join(seen.tools) or 'none'}")
        return ModelError(message, code="ERR_MODEL_SCRIPT", resource=self.name, hint=f"what came: {'; '.join(came)}")


def _meet(condition: Condition, seen: Conversation) -> tuple[dict[str, str], str]:
    """The groups of the match on the user's text, and what does not fit, in words."""
    match: dict[str, str] = {}
    for field, wanted, came in (
        ("user", condition.user, seen.user),
        ("toolResult", condition.tool_result, seen.result),
        ("system", condition.system, seen.system),
    ):
        if not isinstance(wanted, str):
            continue
        found = re.search(wanted, came, re.IGNORECASE | re.DOTALL) if came is not None else None
        if found is None:
            return {}, f'expects `{field}` to match "{wanted}", and got {_quote(came)}'
        if field == "user":
            groups = {str(place): group or "" for place, group in enumerate((found[0], *found.groups()))}
            match = groups | {name: group or "" for name, group in found.groupdict().items()}
    missing = [name for name in condition.tools or () if name not in seen.tools]
    if missing:
        return {}, f"expects the tools {', '.join(missing)} to be offered"
    return match, ""


def _quote(text: str | None) -> str:
    if text is None:
        return "none"
    return f'"{text}"' if len(text) <= LONGEST else f'"{text[:LONGEST]}" and {len(text) - LONGEST} characters more'


def _usage(usage: ScriptedUsage) -> Usage:
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    total, written = prompt + completion, usage.cache_write_tokens or msgspec.UNSET
    return Usage(prompt, completion, total, usage.cached_tokens, usage.reasoning_tokens, cache_write_tokens=written)
