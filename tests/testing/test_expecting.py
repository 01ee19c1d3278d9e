"""What a result is held against: each expectation met, and missed with a difference that people can read."""

from typing import Any

import pytest
from msgspec import UNSET, convert

from kinds.test.expectations import Expectations
from runtime.errors import AgentError, Error, ExpectationError
from runtime.testing.expecting import find_failures


def step(text: str = "", *calls: tuple[str, Any]) -> dict[str, Any]:
    return {"text": text, "toolCalls": [{"name": name, "arguments": given} for name, given in calls], "toolResults": []}


RESULT = {
    "text": "a heron\nis back",
    "usage": {"totalTokens": 30},
    "steps": [step("look", ("fs_read", {"path": "a", "n": 1}), ("fs_list", {})), step("a heron\nis back")],
}


def failures(expect: dict[str, Any], result: Any = RESULT, error: Error | None = None) -> list[tuple[str, str]]:
    return [(each.expectation, each.message) for each in found(expect, result, error)]


def found(expect: dict[str, Any], result: Any = RESULT, error: Error | None = None) -> list[Any]:
    rules = convert(expect, Expectations)
    return list(find_failures(rules, result, error, lambda value, scope: eval(value, {}, scope)))


@pytest.mark.parametrize(
    "expect",
    [
        {},
        {"text": {"equals": "a heron\nis back", "contains": "heron", "regex": r"^a \w+$|back"}},
        {"text": {"contains": ["back", "heron"]}},
        {"that": ["result['usage']['totalTokens'] == 30"]},
        {"tools": {"called": ["fs_list", "fs_read"]}},
        {"tools": {"called": ["fs_read", "fs_list"], "inOrder": True, "only": True}},
        {"tools": {"called": [{"name": "fs_read", "arguments": {"n": 1}}], "notCalled": ["fs_w*", "read"]}},
        {"maxSteps": 2, "maxTokens": 30},
    ],
)
def test_what_holds_is_no_failure(expect: dict[str, Any]) -> None:
    assert failures(expect) == []


@pytest.mark.parametrize(
    ("expect", "expected"),
    [
        ({"text": {"equals": "no"}}, [("text.equals", "the text is another one")]),
        ({"text": {"contains": ["no", "heron"]}}, [("text.contains", 'the text does not hold "no"')]),
        ({"text": {"regex": "^is"}}, [("text.regex", 'nothing in the text fits "^is"')]),
        ({"schema": {"type": "object"}}, [("schema", "the answer is not JSON")]),
        (
            {"that": ["False", "1"]},
            [("that", '"False" does not hold, it is false'), ("that", '"1" does not hold, it is 1')],
        ),
        ({"tools": {"called": ["fs_read", "fs_read"]}}, [("tools.called", 'not called: "fs_read"')]),
        (
            {"tools": {"called": ["fs_list", "fs_read"], "inOrder": True}},
            [("tools.called", 'not called in that order: "fs_read"')],
        ),
        (
            {"tools": {"called": [{"name": "fs_read", "arguments": {"n": 2}}]}},
            [("tools.called", 'not called: "fs_read"')],
        ),
        ({"tools": {"called": ["fs_read"], "only": True}}, [("tools.only", "there were 2 calls, and 1 are expected")]),
        ({"tools": {"notCalled": ["fs_r*"]}}, [("tools.notCalled", '"fs_read" was called')]),
        ({"maxSteps": 1}, [("maxSteps", "the run took 2 steps, and the limit is 1")]),
        ({"maxTokens": 29}, [("maxTokens", "the run used 30 tokens, and the limit is 29")]),
        ({"error": "ERR_X"}, [("error", "the run ended well, and not with ERR_X")]),
    ],
)
def test_what_does_not_hold_is_told(expect: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert failures(expect) == expected


def test_differences_are_lines_of_what_was_expected_and_what_was_found() -> None:
    (text,) = found({"text": {"equals": "a heron\nis gone"}})
    (tools,) = found({"tools": {"called": [{"name": "fs_read", "arguments": {"n": 2}}, "fs_list"]}})
    (that,) = found({"that": ["False"]})

    assert text.diff == [" a heron", "-is gone", "+is back"]
    assert tools.diff == ['-fs_read({"n":2})', '+fs_read({"path":"a","n":1})', " fs_list"]
    assert that.diff == [
        '+step 1: look; fs_read({"path":"a","n":1}), fs_list()',
        "+step 2: a heron is back",
    ]


@pytest.mark.parametrize(
    "result",
    [{"text": '{"n": 3}', "steps": []}, {"text": "n", "output": {"n": 3}, "steps": []}, {"n": 3}],
    ids=["text", "structured", "any"],
)
def test_a_schema_is_held_against_the_structured_answer_the_text_or_the_result_itself(result: Any) -> None:
    schema = {"type": "object", "properties": {"n": {"maximum": 5}}, "required": ["n"]}
    narrow = {"type": "object", "properties": {"n": {"maximum": 2}}, "required": ["n"]}

    assert failures({"schema": schema}, result) == []
    assert [name for name, _ in failures({"schema": narrow}, result)] == ["schema"]


def test_an_expected_error_is_met_and_the_steps_before_it_are_looked_at() -> None:
    error = AgentError("too many", code="ERR_AGENT_MAX_STEPS")
    partial = {"text": "", "steps": [step("", ("a", {}))], "error": {"code": error.code, "message": "too many"}}

    assert failures({"error": "ERR_AGENT_MAX_STEPS", "tools": {"called": ["a"]}}, partial, error) == []
    assert failures({"error": "ERR_OTHER", "maxSteps": 0}, partial, error) == [
        ("error", "the run ended with ERR_AGENT_MAX_STEPS: too many"),
        ("maxSteps", "the run took 1 steps, and the limit is 0"),
    ]


def test_an_error_that_nobody_expected_is_the_only_failure_and_brings_its_difference() -> None:
    error = ExpectationError("not so", resource="A", hint="do so", details={"diff": ["-a", "+b"]})

    (failure,) = found({"text": {"equals": "x"}, "maxSteps": 0}, {"steps": []}, error)

    assert (failure.message, failure.diff) == ("A: not so [ERR_EXPECTATION] (do so)", ["-a", "+b"])


def test_a_question_that_a_scripted_server_has_no_answer_to_is_a_failure_whatever_the_agent_made_of_it() -> None:
    answer = {"content": "the script has no tool", "code": "ERR_MCP_SCRIPT", "isError": True}
    result = {"text": "fine", "steps": [{**step("fine"), "toolResults": [answer]}]}

    assert failures({"text": {"equals": "fine"}}, result) == [("mcp", "the script has no tool")]


def test_unset_is_nothing_expected() -> None:
    assert convert({}, Expectations).text is UNSET
