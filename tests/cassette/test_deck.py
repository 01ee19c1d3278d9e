"""Which recorded exchange answers a request, and what is said where none does."""

from typing import Any

import pytest

from runtime.cassette.contents import CassetteError, Exchange, Recording, ToolList
from runtime.cassette.deck import Deck
from runtime.cassette.matching import Request
from runtime.errors import ExpectationError


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def turn(*contents: str, tools: Any = ()) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(contents)]
    return {"toolChoice": "auto", "options": {}, "tools": list(tools), "messages": messages}


def deck(*requests: dict[str, Any], mode: Any = "strict", ignore: Any = (), masked: bool = False, **more: Any) -> Deck:
    contract = "Ai.Model" if "messages" in requests[0] else "Mcp.Client"
    exchanges = [Exchange(request, {"result": place}, masked) for place, request in enumerate(requests)]
    return Deck(Recording("Name", contract, exchanges=exchanges, **more), "tape", mode, ignore, [])


def test_the_same_request_is_answered_in_the_order_of_the_recording() -> None:
    played = deck(call("a", x=1), call("b"), call("a", x=1))

    assert [played.take(call("a", x=1)).answer["result"] for _ in range(2)] == [0, 2]
    assert played.unused() == ['exchange 2 of "Name": a call of "b"']


def test_the_order_of_arguments_makes_no_difference() -> None:
    assert deck(call("a", x=1, z=2)).take(call("a", z=2, x=1)).answer == {"result": 0}


def refused(played: Deck, request: dict[str, Any]) -> ExpectationError:
    with pytest.raises(CassetteError) as caught:
        played.take(request)
    assert caught.value.code == "ERR_CASSETTE_MISMATCH"
    return caught.value


def test_a_mismatch_shows_the_difference_to_the_call_that_is_most_alike() -> None:
    error = refused(deck(call("a", x=1, z=2), call("a", x=3, z=4)), call("a", x=3, z=5))

    assert error.message == 'what is asked of "Name" is not what was recorded, exchange 2 of tape'
    assert error.details["diff"] == [" arguments:", "   x: 3", "-  z: 4", "+  z: 5"]


def test_a_changed_schema_shows_where_it_changed() -> None:
    tool = {"name": "t", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    other = {"name": "t", "parameters": {"type": "object", "properties": {"n": {"type": "number"}}}}

    error = refused(deck(turn("go", tools=[tool])), turn("go", tools=[other]))

    assert [line.strip() for line in error.details["diff"] if line[0] in "+-"] == [
        "-          type: integer",
        "+          type: number",
    ]


def test_a_turn_is_compared_with_the_same_place_of_the_conversation_that_it_continues() -> None:
    played = deck(turn("one"), turn("two"), turn("one", "yes", "on"), turn("two", "no", "on"))
    played.take(turn("two"))

    assert refused(played, turn("two", "no", "off")).details["exchange"] == 4


def test_what_is_asked_too_often_or_was_never_recorded_is_told() -> None:
    played = deck(call("a"))
    played.take(call("a"))

    assert [refused(played, call(name)).message for name in "ab"] == [
        'a call of "a" is asked of "Name" more often than it was recorded',
        'a call of "b" is asked of "Name", and nothing of the kind was recorded or is left',
    ]


def test_a_fault_is_kept_for_whoever_asks_at_the_end() -> None:
    faults: list[ExpectationError] = []
    played = Deck(Recording("Name", "Mcp.Client"), "tape", "strict", (), faults)

    assert faults == [refused(played, call("a"))]


def test_lenient_takes_the_next_call_of_the_tool_and_the_next_turn_of_that_place() -> None:
    calls = deck(call("a", x=1), call("b"), call("a", x=2), mode="lenient")
    turns = deck(turn("one"), turn("one", "yes", "on"), mode="lenient")

    assert [calls.take(call("a", x=7)).answer["result"] for _ in range(2)] == [0, 2]
    assert turns.take(turn("1", "yes", "on!")).answer == {"result": 1}
    assert refused(calls, call("c")).message.endswith("nothing of the kind was recorded or is left")


@pytest.mark.parametrize("pointer", ["/arguments/x", "/arguments/*", "/arguments", "/*/x"])
def test_what_a_pointer_points_at_may_differ(pointer: str) -> None:
    assert deck(call("a", x="09:00"), ignore=[pointer]).take(call("a", x="10:00")).answer == {"result": 0}


def test_a_pointer_points_into_lists_and_at_odd_names() -> None:
    played = deck(turn("it is 9"), {"name": "a", "arguments": {"a/b": 1}}, ignore=["/messages/0/content"])
    assert played.take(turn("it is 10")).answer == {"result": 0}
    odd = deck({"name": "a", "arguments": {"a/b~": 1}}, ignore=["/arguments/a~1b~0"])
    assert odd.take({"name": "a", "arguments": {"a/b~": 2}}).answer == {"result": 0}


def test_the_difference_leaves_out_what_is_ignored() -> None:
    error = refused(deck(call("a", x=1, z=1), ignore=["/arguments/x"]), call("a", x=2, z=2))
    assert [line for line in error.details["diff"] if line[0] in "+-"] == ["-  z: 1", "+  z: 2"]


def test_a_rule_that_is_no_pointer_is_refused() -> None:
    with pytest.raises(CassetteError, match='is a JSON pointer such as "/messages/0/content", not "x"'):
        deck(call("a"), ignore=["x"])


def test_stars_of_a_masked_request_stand_for_any_text_and_others_for_themselves() -> None:
    stars, real = call("a", key="Bearer ***, twice ***"), call("a", key="Bearer one\n, twice two")

    assert deck(stars, masked=True).take(real).answer == {"result": 0}
    refused(deck(stars), real)
    refused(deck(stars, masked=True), call("a", key="Basic one, twice two"))
    refused(deck(stars, masked=True), call("a", key="Bearer one, twice two", more=1))


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("a.b.c", True),
        ("abc", True),
        ("a.c.b", False),
        ("ab", False),
        ("bc", False),
        ("a.bc.", False),
        ("a.b.b.c", True),
    ],
)
def test_parts_around_stars_stand_in_their_order(text: str, fits: bool) -> None:
    request = Request(call("a", key=text), [])

    assert request.fits(Exchange(call("a", key="a***b***c"), {}, True)) is fits


def test_the_list_of_tools_changes_when_as_much_went_on_as_in_the_recording() -> None:
    lists = [ToolList(0, []), ToolList(1, [{"name": "new"}])]
    played = deck(call("a"), call("b"), tool_lists=lists)

    numbers = [played.list_number]
    for name in "ab":
        played.take(call(name))
        numbers.append(played.list_number)

    assert numbers == [0, 1, 1]
