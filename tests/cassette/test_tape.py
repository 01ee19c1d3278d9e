"""How a recording comes about: masked, in pieces, and in the same order each time."""

from collections.abc import Sequence
from typing import Any

from runtime.cassette.borders import Border
from runtime.cassette.contents import ToolList
from runtime.cassette.tape import Tape
from runtime.errors import McpError
from runtime.masking import Masker


def tape(contract: str = "Mcp.Client", *secrets: str) -> Tape:
    return Tape(Border("Name", contract), Masker(secrets))


def turn(*contents: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text} for text in contents], "tools": []}


def names(made: Tape) -> list[str]:
    return [exchange.request["name"] for exchange in made.finish(()).exchanges]


def play(made: Tape, order: Sequence[str], requests: dict[str, dict[str, Any]]) -> list[Any]:
    """Begin a request at its name's first place in the order, end it at the second."""
    begun: dict[str, Any] = {}
    for name in order:
        if name in begun:
            begun[name].end({"result": None})
        else:
            begun[name] = made.begin(requests[name])
    return [exchange.request for exchange in made.finish(()).exchanges]


def test_what_went_on_at_the_same_time_is_in_one_order_whenever_it_began_and_ended() -> None:
    requests = {name: {"name": name} for name in "abcd"}

    written = [[each["name"] for each in play(tape(), order, requests)] for order in ("bacaddcb", "cdabdbca")]
    one_by_one = [each["name"] for each in play(tape(), "ccaaddbb", requests)]

    assert written == [["a", "b", "c", "d"]] * 2
    assert one_by_one == ["c", "a", "d", "b"]


def test_conversations_at_the_same_time_stay_together() -> None:
    requests = {"A": turn("a"), "B": turn("a", "b"), "X": turn("x"), "Y": turn("x", "y")}

    written = [play(tape("Ai.Model"), order, requests) for order in ("XAXAYBYB", "AXABBXYY")]

    assert written == [[turn("a"), turn("a", "b"), turn("x"), turn("x", "y")]] * 2


def test_secrets_are_masked_wherever_they_stand() -> None:
    made = tape("Mcp.Client", "geheim")
    made.facts = {"instructions": "say geheim"}
    made.add_list([{"name": "t", "description": "geheim"}])
    made.begin({"name": "t", "arguments": {"geheim": "geheim"}}).end({"result": ["geheim"]})
    made.begin({"name": "t"}).fail(McpError("no geheim", details={"a": "geheim"}))

    recording = made.finish(())

    assert "geheim" not in repr(recording)
    assert [exchange.is_masked for exchange in recording.exchanges] == [True, False]
    assert recording.tool_lists == [ToolList(0, [{"name": "t", "description": "***"}])]


def test_pieces_of_a_text_are_kept_and_a_secret_across_them_is_not() -> None:
    made = tape("Ai.Model", "geheim")
    made.begin(turn("a")).end({"finishReason": "stop"}, ["so ge", "t it", ""])
    made.begin(turn("b")).end({"finishReason": "stop"}, ["so ge", "he", "im it"])

    answers = [exchange.answer for exchange in made.finish(()).exchanges]

    assert answers == [
        {"text": "so get it", "pieces": "5 4 0", "finishReason": "stop"},
        {"text": "so *** it", "pieces": "3 6", "finishReason": "stop"},
    ]


def test_what_nobody_waited_for_is_told_and_what_broke_is_left_out() -> None:
    made = tape("Ai.Model")
    made.begin(turn("a")).cancel(["well"])
    made.begin(turn("b"))

    assert [exchange.answer for exchange in made.finish(()).exchanges] == [{"text": "well", "cancelled": True}]


def test_only_the_first_end_counts() -> None:
    made = tape()
    entry = made.begin({"name": "a"})
    entry.end({"result": 1})
    entry.cancel()

    assert [exchange.answer for exchange in made.finish(()).exchanges] == [{"result": 1}]


def test_a_list_of_tools_knows_what_was_over_before_it() -> None:
    made = tape()
    made.add_list([])
    made.begin({"name": "a"}).end({"result": 1})
    made.begin({"name": "b"})
    made.add_list([{"name": "new"}])

    assert made.finish(()).tool_lists == [ToolList(0, []), ToolList(1, [{"name": "new"}])]
