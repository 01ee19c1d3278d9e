"""`Ai.ScriptedModel`: turns, rules, the demo; anything unexpected is an error that says so."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from kinds.ai.scripted_model import ScriptedModel
from runtime.ai.contracts import Image, Message, ModelRequest, Text, TextDelta, Tool, ToolCall, TurnEnd, Usage
from runtime.errors import ModelError, StartError

pytestmark = pytest.mark.anyio


class Context:
    """Evaluates `$path.to.value` in the scope, which stands for an expression."""

    name = "Scripted"
    folder = Path()

    def warn(self, message: str) -> None:
        raise AssertionError(message)

    def log(self, message: str) -> None:
        raise AssertionError(message)

    def mask(self, text: str) -> str:
        return text

    def evaluate(self, value: Any, scope: Mapping[str, Any]) -> Any:
        if isinstance(value, Mapping):
            return {name: self.evaluate(part, scope) for name, part in value.items()}
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        found: Any = scope
        for step in value[1:].split("."):
            found = found[int(step)] if isinstance(found, list) else found[step]
        return found


async def ask(
    fields: dict[str, Any], *messages: Message, tools: Sequence[str | Tool] = ()
) -> tuple[list[str], TurnEnd | None]:
    """The deltas and the end of the turn that follows these messages."""
    offered = [tool if isinstance(tool, Tool) else Tool(tool, "", {}) for tool in tools]
    deltas: list[str] = []
    end = None
    async with msgspec.convert(fields, ScriptedModel).open(Context()) as model:
        async for piece in model.generate(ModelRequest(messages, offered)):
            if isinstance(piece, TextDelta):
                deltas.append(piece.text)
            else:
                end = piece
    return deltas, end


USER = Message("user", "Read the file notes.txt, please")
CALLED = Message("assistant", "", [ToolCall("call_1_0", "read", "{}")])
RESULT = Message("tool", '{"text": "milk", "lines": [1, 2]}', tool_call_id="call_1_0", name="read")


async def test_text_streams_word_by_word():
    deltas, end = await ask({"turns": [{"text": " One two,\nthree. "}]}, USER)

    assert deltas == [" One", " two,", "\nthree. "]
    assert end == TurnEnd([], "stop", Usage())


async def test_turn_may_be_empty():
    assert await ask({"turns": [{}]}, USER) == ([], TurnEnd([], "stop", Usage()))


async def test_turn_follows_from_the_conversation_so_that_runs_share_a_model():
    fields = {"turns": [{"text": "first"}, {"text": "second"}, {"text": "third"}]}

    assert (await ask(fields, USER))[0] == ["first"]
    assert (await ask(fields, USER, CALLED, RESULT))[0] == ["second"]
    assert (await ask(fields, USER, CALLED, RESULT, Message("assistant", "ok"), USER))[0] == ["third"]


async def test_several_calls_of_a_turn_have_ids_by_turn_and_place():
    turn = {"toolCalls": [{"name": "read", "arguments": {"a": 1}}, {"name": "list"}, {"name": "read", "id": "mine"}]}

    _, end = await ask({"turns": [{}, turn]}, USER, CALLED, RESULT, tools=["read", "list"])

    assert end == TurnEnd(
        [ToolCall("call_2_0", "read", '{"a":1}'), ToolCall("call_2_1", "list", "{}"), ToolCall("mine", "read", "{}")],
        "tool-calls",
        Usage(),
    )


async def test_malformed_arguments_go_out_as_written():
    turn = {"toolCalls": [{"name": "read", "rawArguments": '{"a": '}]}

    _, end = await ask({"turns": [turn]}, USER, tools=["read"])

    assert end is not None
    assert end.tool_calls[0].arguments == '{"a": '


async def test_finish_reason_and_usage_are_as_the_turn_says():
    usage = {"promptTokens": 5, "completionTokens": 2, "cachedTokens": 1, "reasoningTokens": 1}

    _, end = await ask({"turns": [{"text": "cut", "finishReason": "length", "usage": usage}]}, USER)

    assert end == TurnEnd([], "length", Usage(5, 2, 7, 1, 1))


async def test_error_of_a_turn_comes_after_its_text():
    turn = {"text": "so far", "error": {"code": "ERR_MODEL_CONNECTION", "message": "the line is cut"}}
    deltas = []

    async with msgspec.convert({"turns": [turn]}, ScriptedModel).open(Context()) as model:
        with pytest.raises(ModelError) as raised:
            async for piece in model.generate(ModelRequest([USER])):
                deltas.append(piece)

    assert deltas == [TextDelta("so"), TextDelta(" far")]
    error = raised.value
    assert (error.code, error.message, error.resource) == ("ERR_MODEL_CONNECTION", "the line is cut", "Scripted")


async def test_delay_waits_before_the_answer():
    with anyio.move_on_after(0.01) as scope:
        await ask({"turns": [{"text": "late", "delayMs": 60_000}]}, USER)

    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        ({"user": "^Write"}, 'turn 2 expects `user` to match "^Write", and got "Read the file notes.txt, please"'),
        (
            {"toolResult": "bread"},
            'turn 2 expects `toolResult` to match "bread", and got "{"text": "milk", "lines": [1, 2]}"',
        ),
        ({"system": "brief"}, 'turn 2 expects `system` to match "brief", and got ""'),
        ({"tools": ["read", "write"]}, "turn 2 expects the tools write to be offered"),
    ],
)
async def test_request_that_a_turn_did_not_expect_is_an_error(expect, words):
    with pytest.raises(ModelError) as raised:
        await ask({"turns": [{}, {"expect": expect}]}, USER, CALLED, RESULT, tools=["read"])

    error = raised.value
    assert (error.code, error.resource, error.message) == ("ERR_MODEL_SCRIPT", "Scripted", words)
    assert error.hint == (
        'what came: user text: "Read the file notes.txt, please"; '
        'newest tool result: "{"text": "milk", "lines": [1, 2]}"; tools offered: read'
    )


async def test_request_that_a_turn_expected_is_answered():
    expect = {"user": "NOTES", "toolResult": "milk", "system": "brief", "tools": ["read"]}

    deltas, _ = await ask(
        {"turns": [{}, {"expect": expect, "text": "fine"}]},
        Message("system", "Be brief."),
        USER,
        CALLED,
        RESULT,
        tools=["read", "list"],
    )

    assert deltas == ["fine"]


async def test_turn_expects_no_tool_result_where_none_came():
    with pytest.raises(ModelError, match="and got none"):
        await ask({"turns": [{"expect": {"toolResult": "."}}]}, USER)


async def test_request_after_the_last_turn_is_an_error():
    with pytest.raises(ModelError) as raised:
        await ask({"turns": [{}]}, USER, CALLED, RESULT)

    assert raised.value.message == "the script has 1 turn, and the model is asked for one more"


async def test_call_of_a_tool_that_is_not_offered_is_an_error_unless_allowed():
    turn = {"toolCalls": [{"name": "gone"}]}

    with pytest.raises(ModelError, match='turn 1 calls the tool "gone", which is not offered'):
        await ask({"turns": [turn]}, USER, tools=["read"])
    turn["toolCalls"][0]["allowUnknown"] = True  # type: ignore[assignment]

    _, end = await ask({"turns": [turn]}, USER, tools=["read"])
    assert end is not None
    assert end.tool_calls[0].name == "gone"


async def test_long_text_is_cut_in_an_error():
    with pytest.raises(ModelError) as raised:
        await ask({"turns": [{"expect": {"user": "x"}}]}, Message("user", "y" * 1000))

    assert raised.value.message.endswith(f'"{"y" * 300}" and 700 characters more')


async def test_first_rule_that_fits_answers():
    rules = [
        {"when": {"user": "write"}, "text": "no"},
        {"when": {"user": "read", "tools": ["gone"]}, "text": "no"},
        {"when": {"user": "READ", "tools": ["read"]}, "text": "yes"},
        {"text": "no"},
    ]

    assert (await ask({"rules": rules}, USER, tools=["read"]))[0] == ["yes"]


async def test_rule_without_a_condition_on_the_result_answers_the_user_only():
    rules = [
        {"when": {"user": "read"}, "toolCalls": [{"name": "read"}]},
        {"when": {"toolResult": "milk"}, "text": "It says milk."},
    ]

    _, end = await ask({"rules": rules}, USER, tools=["read"])
    deltas, _ = await ask({"rules": rules}, USER, CALLED, RESULT, tools=["read"])

    assert end is not None
    assert end.finish_reason == "tool-calls"
    assert "".join(deltas) == "It says milk."


async def test_no_rule_that_fits_is_an_error_that_says_why_for_each():
    rules = [{"when": {"user": "write"}, "text": "no"}, {"when": {"toolResult": "."}, "text": "no"}]

    with pytest.raises(ModelError) as raised:
        await ask({"rules": rules}, Message("user", "sing"))

    assert raised.value.code == "ERR_MODEL_SCRIPT"
    assert raised.value.message == (
        'no rule fits: rule 1 expects `user` to match "write", and got "sing"; '
        'rule 2 expects `toolResult` to match ".", and got none'
    )


async def test_groups_of_the_user_text_fill_text_and_arguments():
    rule = {
        "when": {"user": r"read the file (?P<path>\S+?),( now)?"},
        "text": "$match.path",
        "toolCalls": [{"name": "read", "arguments": {"path": "$match.1", "whole": "$match.0", "none": "$match.2"}}],
    }

    deltas, end = await ask({"rules": [rule]}, USER, tools=["read"])

    assert deltas == ["notes.txt"]
    assert end is not None
    assert msgspec.json.decode(end.tool_calls[0].arguments) == {
        "path": "notes.txt",
        "whole": "Read the file notes.txt,",
        "none": "",
    }


async def test_json_of_tool_results_fills_text_and_arguments():
    second = Message("tool", [Text("plain [1"), Image("aGk=", "image/png")], tool_call_id="b")
    turns = [
        {},
        {
            "text": "$results.0",
            "toolCalls": [{"name": "read", "arguments": {"n": "$results.0.lines.1", "t": "$result"}}],
        },
    ]

    deltas, end = await ask({"turns": turns}, USER, CALLED, RESULT, second, tools=["read"])

    assert "".join(deltas) == '{"text":"milk","lines":[1,2]}'
    assert end is not None
    assert msgspec.json.decode(end.tool_calls[0].arguments) == {"n": 2, "t": "plain [1\n[Image: image/png]"}


async def test_turns_and_rules_together_do_not_start():
    with pytest.raises(StartError, match="`turns` or `rules`, not both"):
        await ask({"turns": [{}], "rules": [{}]}, USER)


async def test_condition_that_is_no_regular_expression_does_not_start():
    with pytest.raises(StartError, match=r'^Scripted: "\(" is no regular expression: '):
        await ask({"rules": [{"when": {"user": "("}, "text": "no"}]}, USER)


@pytest.mark.parametrize(
    "fields",
    [
        {"turns": []},
        {"rules": []},
        {"turn": [{}]},
        {"turns": None},
        {"turns": [{"say": "x"}]},
        {"turns": [{"when": {}}]},
        {"rules": [{"expect": {}}]},
        {"turns": [{"toolCalls": [{"arguments": {}}]}]},
        {"turns": [{"toolCalls": [{"name": "a", "rawArguments": None}]}]},
        {"turns": [{"error": {"code": "ERR_OTHER"}}]},
        {"turns": [{"finishReason": "done"}]},
        {"turns": [{"usage": {"promptTokens": -1}}]},
        {"turns": [{"expect": {"tools": "read"}}]},
    ],
)
def test_fields_are_closed_and_typed(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fields, ScriptedModel)


WEATHER = Tool(
    "get_weather", "The weather of a city.", {"properties": {"city": {"type": "string"}}, "required": ["city"]}
)
TIME = Tool(
    "get_current_time",
    "Get current time in a specific timezone",
    {"properties": {"timezone": {"type": "string", "description": "IANA name"}}, "required": ["timezone"]},
)
ADD = Tool(
    "add",
    "Adds two numbers.",
    {"properties": {"a": {"type": "number"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
)
READ = Tool(
    "read_file",
    "Read a file.",
    {"properties": {"path": {"type": "string"}, "head": {"type": "integer"}}, "required": ["path"]},
)
CONVERT = Tool(
    "convertUnits",
    "",
    {"properties": {"unit": {"enum": ["metre", "foot"]}, "deep": {"type": "object"}}, "required": ["unit", "deep"]},
)


@pytest.mark.parametrize(
    ("prompt", "name", "arguments"),
    [
        ("What time is it in New York?", "get_current_time", {"timezone": "America/New_York"}),
        ("Tell me the current time", "get_current_time", {"timezone": "UTC"}),
        ('How is the weather in "Arles"?', "get_weather", {"city": "Arles"}),
        ("add 2.5 and 40", "add", {"a": 2.5, "b": 40}),
        ("Please read notes/today.md", "read_file", {"path": "notes/today.md"}),
        ("convert 3 units to foot", "convertUnits", {"unit": "foot", "deep": {}}),
    ],
)
async def test_demo_picks_a_tool_by_words_and_fills_its_arguments(prompt, name, arguments):
    deltas, end = await ask({}, Message("user", prompt), tools=[WEATHER, TIME, ADD, READ, CONVERT])

    assert end is not None
    (call,) = end.tool_calls
    assert (call.name, msgspec.json.decode(call.arguments)) == (name, arguments)
    assert "This is the demo model" in "".join(deltas)


async def test_demo_answers_with_what_the_tool_gave_and_says_that_it_is_a_demo():
    deltas, end = await ask({}, USER, CALLED, RESULT, tools=[READ])

    text = "".join(deltas)
    assert text.startswith("This is the demo model")
    assert '"text": "milk"' in text
    assert end == TurnEnd([], "stop", Usage())


async def test_demo_says_which_tools_there_are_when_none_fits():
    deltas, end = await ask({}, Message("user", "Sing a song"), tools=[WEATHER, ADD])

    assert "No tool fits the prompt; the tools are: get_weather, add" in "".join(deltas)
    assert end == TurnEnd([], "stop", Usage())


async def test_demo_without_tools_says_so():
    assert "the tools are: none" in "".join((await ask({}, USER))[0])
