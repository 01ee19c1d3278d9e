"""`history`: which part of a long conversation is sent."""

import random
from typing import Any

import pytest

from runtime.ai.contracts import Image, Message, ModelRequest, Text, TextDelta, ToolCall, TurnEnd, Usage
from runtime.ai.history import History, HistoryRule, estimate_tokens

SYSTEM = Message("system", "s")


def ask(text: str) -> Message:
    return Message("user", text)


def say(text: str) -> Message:
    return Message("assistant", text)


def turn(name: str, calls: int = 1) -> list[Message]:
    """A turn with calls and their results."""
    wanted = [ToolCall(f"{name}{place}", "t", "{}") for place in range(calls)]
    results = [Message("tool", "r", tool_call_id=call.id, name="t") for call in wanted]
    return [Message("assistant", name, wanted), *results]


def sent(rule: HistoryRule, start: list[Message], *more: Message) -> list[str]:
    """The texts that are sent."""
    return ["".join(str(message.content)) for message in History(rule, start).trim([*start, *more])]


def test_a_conversation_that_fits_is_sent_whole():
    start = [SYSTEM, ask("q1"), say("a1"), ask("q2")]

    assert sent(HistoryRule(max_messages=6), start, *turn("t1", 2)) == ["s", "q1", "a1", "q2", "t1", "r", "r"]


def test_earlier_questions_go_first_with_all_that_followed_them():
    start = [SYSTEM, ask("q1"), *turn("t0"), say("a1"), ask("q2"), say("a2"), ask("q3")]

    assert sent(HistoryRule(max_messages=6), start) == ["s", "q2", "a2", "q3"]
    assert sent(HistoryRule(max_messages=7), start) == ["s", "q1", "t0", "r", "a1", "q2", "a2", "q3"]
    assert sent(HistoryRule(max_messages=2), start) == ["s", "q3"]


def test_then_turns_of_the_run_go_each_with_its_results():
    start = [SYSTEM, ask("q1"), say("a1"), ask("q2")]
    turns = [*turn("t1", 2), *turn("t2", 3), *turn("t3")]

    assert sent(HistoryRule(max_messages=7), start, *turns) == ["s", "q2", "t2", "r", "r", "r", "t3", "r"]
    assert sent(HistoryRule(max_messages=6), start, *turns) == ["s", "q2", "t3", "r"]


def test_system_text_question_and_newest_turn_are_sent_even_if_that_is_too_much():
    assert sent(HistoryRule(max_messages=1), [SYSTEM, ask("q")], *turn("t1"), *turn("t2", 3)) == [
        "s",
        "q",
        "t2",
        "r",
        "r",
        "r",
    ]
    assert sent(HistoryRule(max_tokens=1), [SYSTEM, ask("q")], *turn("t1")) == ["s", "q", "t1", "r"]


def test_tokens_are_counted_with_the_system_text_and_the_question():
    start = [Message("system", "s" * 40), ask("q" * 40)]  # 14 tokens each
    turns = [*turn("t1"), *turn("t2")]  # 6 and 5 tokens each

    assert estimate_tokens(start[0]) == 14
    assert [estimate_tokens(message) for message in turns[:2]] == [6, 5]
    assert len(sent(HistoryRule(max_tokens=50), start, *turns)) == 6
    assert len(sent(HistoryRule(max_tokens=49), start, *turns)) == 4


def test_both_limits_hold():
    start = [ask("q1"), say("a" * 400), ask("q2"), say("a2"), ask("q3")]

    assert sent(HistoryRule(max_messages=9, max_tokens=50), start) == ["q2", "a2", "q3"]
    assert sent(HistoryRule(max_messages=2, max_tokens=500), start) == ["q3"]


def test_a_conversation_without_a_question_keeps_its_end():
    assert sent(HistoryRule(max_messages=1), [say("a"), say("b")]) == ["b"]
    assert sent(HistoryRule(max_messages=1), [SYSTEM]) == ["s"]
    assert sent(HistoryRule(max_messages=2), [ask("q"), *turn("t1"), *turn("t2")]) == ["q", "t2", "r"]


def test_system_texts_are_sent_wherever_they_stand():
    middle = Message("system", "m")

    assert sent(HistoryRule(max_messages=1), [SYSTEM, ask("q1"), middle, say("a1"), ask("q2")]) == ["s", "m", "q2"]
    assert sent(HistoryRule(max_messages=1), [ask("q1"), middle, *turn("t1")], *turn("t2")) == ["q1", "m", "t2", "r"]


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (ask(""), 4),
        (ask("abcd"), 5),
        (ask("abcde"), 6),
        (ask("世界"), 6),
        (Message("user", [Text("abcd"), Image("x" * 9000, "image/png")]), 1005),
        (Message("assistant", "", [ToolCall("id", "name", '{"a":"b"}')]), 8),
        (Message("assistant", "", provider_data={"a": "b"}), 7),
        (ask("\ud800"), 5),
    ],
)
def test_tokens_are_estimated_from_bytes(message: Message, tokens: int):
    assert estimate_tokens(message) == tokens


def test_whatever_is_cut_what_is_sent_is_a_conversation():
    dice = random.Random(7)
    for _ in range(2000):
        start = [SYSTEM] if dice.random() < 0.5 else []
        for number in range(dice.randrange(4)):
            start.append(ask(f"q{number}"))
            for part in range(dice.randrange(3)):
                start += turn(f"e{part}", dice.randrange(1, 4))
            start.append(say("a"))
        start.append(ask("question"))
        messages = list(start)
        limit = dice.randrange(1, 12)
        history = History(HistoryRule(max_messages=limit), start)
        for number in range(dice.randrange(6)):
            messages += turn(f"n{number}", dice.randrange(1, 4))
            seen = history.trim(messages)
            check(seen, messages, start, limit)


def check(seen: list[Message], messages: list[Message], start: list[Message], limit: int) -> None:
    places = [next(place for place, each in enumerate(messages) if each is message) for message in seen]
    assert places == sorted(set(places))
    assert [message.role for message in seen if message.role == "system"] == [
        m.role for m in start if m.role == "system"
    ]
    rest = [message for message in seen if message.role != "system"]
    assert rest[0].role == "user"
    assert start[-1] in rest
    assert rest[-1] is messages[-1]
    calls = {call.id for message in rest for call in message.tool_calls}
    newest = max(place for place, message in enumerate(rest) if message.role == "assistant")
    assert len(rest) <= max(limit, 1 + len(rest) - newest)
    assert {message.tool_call_id for message in rest if message.role == "tool"} == calls


class Recorder:
    tool_format = ""
    max_tools = None

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.asked: list[list[Message]] = []

    async def generate(self, request: ModelRequest) -> Any:
        self.asked.append(list(request.messages))
        yield TextDelta("t")
        calls = [ToolCall("", "one", "")] if len(self.asked) < self.turns else []
        yield TurnEnd(calls, "tool-calls" if calls else "stop", Usage())


@pytest.mark.anyio
async def test_a_run_sends_what_fits_and_its_trace_keeps_all(toolbox, agent):
    model = Recorder(turns=5)
    rules = {"history": HistoryRule(max_messages=3), "system": "Be brief."}
    run = agent(model, toolbox("Tools", one=lambda: "1"), **rules).start({"prompt": "go"})

    steps = [event async for event in run.events()]

    assert [len(messages) for messages in model.asked] == [2, 4, 4, 4, 4]
    assert [message.tool_call_id for message in model.asked[4]] == ["", "", "", "call_4_0"]
    assert len(run.messages) == 2 + 4 * 2 + 1
    assert len(steps) == 5 + 4 * 2 + 1
