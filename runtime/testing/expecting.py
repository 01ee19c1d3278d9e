"""What was run, held against what is expected of it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from runtime.ai.selection import make_filter
from runtime.ai.value_check import ValueCheck
from runtime.cassette.differences import as_lines, compare_lines
from runtime.errors import Error
from runtime.testing.contracts import Failure

SHOWN = 300
SCRIPT_FAULTS = frozenset(("ERR_MCP_SCRIPT",))
"""Codes by which a scripted server says that it was asked what its script does not have: an agent goes on after it."""

Evaluate = Callable[[Any, Mapping[str, Any]], Any]


class TextRule(Protocol):
    equals: str | UnsetType
    contains: str | list[str] | UnsetType
    regex: str | UnsetType


class ToolRule(Protocol):
    called: Sequence[Any]
    not_called: Sequence[str]
    in_order: bool
    only: bool


class Rules(Protocol):
    """What is expected, as a kind types it."""

    text: Any
    schema: dict[str, Any] | UnsetType
    that: list[Any]
    tools: Any
    max_steps: int | UnsetType
    max_tokens: int | UnsetType
    error: str | UnsetType


def find_failures(rules: Rules, result: Any, error: Error | None, evaluate: Evaluate) -> Iterator[Failure]:
    """Every expectation that `result` does not meet; `error` is what the run ended with, if it did not finish."""
    if not isinstance(rules.error, str):
        if error is not None:
            yield explain_error(error)
            return
    elif error is None:
        yield Failure("error", f"the run ended well, and not with {rules.error}")
    elif error.code != rules.error:
        yield Failure(
            "error", f"the run ended with {error.code}: {error.message}", [f"-{rules.error}", f"+{error.code}"]
        )
    yield from _check_scripts(result)
    if rules.text is not UNSET:
        yield from _check_text(rules.text, result)
    if isinstance(rules.schema, dict):
        yield from _check_schema(rules.schema, result)
    yield from _check_conditions(rules.that, result, evaluate)
    if rules.tools is not UNSET:
        yield from _check_tools(rules.tools, result)
    yield from _check_sizes(rules, result)


def explain_error(error: Error) -> Failure:
    """A run that failed and should not have."""
    place = f"{error.resource}: " if error.resource else ""
    hint = f" ({error.hint})" if error.hint else ""
    return Failure("run", f"{place}{error.message} [{error.code}]{hint}", error.details.get("diff", ()))


def _steps_of(result: Any) -> list[Any]:
    steps = result.get("steps") if isinstance(result, Mapping) else None
    return steps if isinstance(steps, list) else []


def _text_of(result: Any) -> str:
    if isinstance(result, Mapping) and isinstance(result.get("text"), str):
        return str(result["text"])
    return result if isinstance(result, str) else msgspec.json.encode(result).decode()


def _check_scripts(result: Any) -> Iterator[Failure]:
    for step in _steps_of(result):
        for answer in step["toolResults"]:
            if answer.get("code") in SCRIPT_FAULTS:
                yield Failure("mcp", _text_of({"text": answer["content"]}))


def _check_text(rule: TextRule, result: Any) -> Iterator[Failure]:
    text = _text_of(result)
    if isinstance(rule.equals, str) and text != rule.equals:
        diff = compare_lines(rule.equals.split("\n"), text.split("\n"))
        yield Failure("text.equals", "the text is another one", diff)
    wanted = [rule.contains] if isinstance(rule.contains, str) else rule.contains or ()
    for part in wanted:
        if part not in text:
            yield Failure("text.contains", f'the text does not hold "{part}"', _shown(text))
    if isinstance(rule.regex, str) and re.search(rule.regex, text) is None:
        yield Failure("text.regex", f'nothing in the text fits "{rule.regex}"', _shown(text))


def _shown(text: str) -> list[str]:
    cut = f"{text[:SHOWN]}…" if len(text) > SHOWN else text
    return [f"+{line}" for line in cut.split("\n")]


def _check_schema(schema: Mapping[str, Any], result: Any) -> Iterator[Failure]:
    """A structured answer, else the text of one as JSON, else the result itself."""
    value = result
    if isinstance(result, Mapping) and "output" in result and "steps" in result:
        value = result["output"]
    elif isinstance(result, Mapping) and isinstance(result.get("text"), str):
        try:
            value = msgspec.json.decode(result["text"])
        except (ValueError, RecursionError):
            yield Failure("schema", "the answer is not JSON", _shown(result["text"]))
            return
    faults = ValueCheck(schema).find_faults(value)
    if faults:
        yield Failure("schema", f"the answer does not fit: {faults}", [f"+{line}" for line in as_lines(value)[:20]])


def _check_conditions(conditions: Sequence[Any], result: Any, evaluate: Evaluate) -> Iterator[Failure]:
    for condition in conditions:
        shown = str(condition).strip()
        try:
            held = evaluate(condition, {"result": result})
        except Error as error:
            yield Failure("that", error.message)
            continue
        if held is not True:
            yield Failure(
                "that", f'"{shown}" does not hold, it is {msgspec.json.encode(held).decode()}', _outline(result)
            )


def _outline(result: Any) -> list[str]:
    """A run in a few lines: what the model said and called, turn by turn."""
    if not _steps_of(result):
        return _shown(_text_of(result))
    lines = []
    for number, step in enumerate(_steps_of(result), 1):
        calls = ", ".join(_spell_call(call["name"], call["arguments"]) for call in step["toolCalls"])
        text = " ".join(step["text"].split())[:SHOWN]
        lines.append(f"+step {number}: {'; '.join(filter(None, (text, calls)))}")
    return lines


def _spell_call(name: str, arguments: Any) -> str:
    return f"{name}({msgspec.json.encode(arguments).decode() if arguments else ''})"


def _check_tools(rule: ToolRule, result: Any) -> Iterator[Failure]:
    calls = [(call["name"], call["arguments"]) for step in _steps_of(result) for call in step["toolCalls"]]
    wanted = [(each, {}) if isinstance(each, str) else (each.name, each.arguments) for each in rule.called]
    left = list(calls)
    missing = []
    for expected in wanted:
        place = next((place for place, call in enumerate(left) if _is_call(expected, call)), None)
        if place is None:
            missing.append(expected)
        elif rule.in_order:
            left = left[place + 1 :]
        else:
            del left[place]
    bare = {name for name, arguments in wanted if not arguments}
    shown = [name if name in bare else _spell_call(name, arguments) for name, arguments in calls]
    diff = compare_lines([_spell_call(*call) if call[1] else call[0] for call in wanted], shown)
    if missing:
        names = ", ".join(f'"{name}"' for name, _ in missing)
        order = " in that order" if rule.in_order else ""
        yield Failure(
            "tools.called", f"not called{order}: {names}", diff or [f"+{_spell_call(*call)}" for call in calls]
        )
    elif rule.only and len(calls) > len(wanted):
        yield Failure("tools.only", f"there were {len(calls)} calls, and {len(wanted)} are expected", diff)
    is_barred = make_filter(rule.not_called)
    for name in dict.fromkeys(name for name, _ in calls if is_barred(name)):
        yield Failure("tools.notCalled", f'"{name}" was called', [f"+{_spell_call(*call)}" for call in calls])


def _is_call(expected: tuple[str, Mapping[str, Any]], call: tuple[str, Any]) -> bool:
    name, arguments = expected
    if name != call[0]:
        return False
    given = call[1] if isinstance(call[1], Mapping) else {}
    return all(key in given and given[key] == value for key, value in arguments.items())


def _check_sizes(rules: Rules, result: Any) -> Iterator[Failure]:
    steps = len(_steps_of(result))
    if isinstance(rules.max_steps, int) and steps > rules.max_steps:
        yield Failure("maxSteps", f"the run took {steps} steps, and the limit is {rules.max_steps}", _outline(result))
    usage = result.get("usage", {}) if isinstance(result, Mapping) else {}
    tokens = usage.get("totalTokens", 0) if isinstance(usage, Mapping) else 0
    if isinstance(rules.max_tokens, int) and tokens > rules.max_tokens:
        yield Failure("maxTokens", f"the run used {tokens} tokens, and the limit is {rules.max_tokens}")
