"""Turns that ended with calls of the caller's tools, kept until the caller comes back with the results.

A caller is told its own calls alone, and sends back no more than those. What the run did besides, such as calls of the
agent's tools in the same turn or before it, and what the model's provider wants to have back, is put in again here:
without it the model would call those tools once more.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from runtime.ai.contracts import Message
from runtime.serve.responses import BadRequest

MOST_TURNS = 1000
MOST_BYTES = 64 << 20
_ID = re.compile(r"call_([0-9a-f]{24})_\d{1,9}(s?)")


class HandedTurn(Struct):
    """What a run of an agent added to its conversation; `calls` are those left to the caller, by the caller's ids."""

    agent: str
    messages: list[Message]
    calls: Mapping[str, str]
    size: int


def name_calls(run: str, count: int, *, has_results: bool) -> list[str]:
    """The ids of calls as a caller sees them: no two runs have the same.

    `has_results` says that tools of the agent were run, whose results the caller does not have.
    """
    return [f"call_{run.removeprefix('run_')}_{place}{'s' if has_results else ''}" for place in range(count)]


class HandedTurns:
    """The newest turns, so many and so large at most."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, HandedTurn] = OrderedDict()
        self._size = 0

    def keep(self, run: str, agent: str, messages: Sequence[Message]) -> None:
        """Keep what a run added to its conversation where it ended with calls that nobody answered."""
        last = _find_turn(messages)
        answered = {message.tool_call_id for message in messages[last + 1 :]}
        left = [call.id for call in messages[last].tool_calls if call.id not in answered] if messages else []
        if not left:
            return
        names = name_calls(run, len(left), has_results=any(message.role == "tool" for message in messages))
        size = sum(len(msgspec.json.encode(msgspec.structs.replace(message, wire={}))) for message in messages)
        turn = HandedTurn(agent, list(messages), dict(zip(names, left, strict=True)), size)
        self._turns[run.removeprefix("run_")] = turn
        self._size += size
        while len(self._turns) > MOST_TURNS or (self._size > MOST_BYTES and len(self._turns) > 1):
            self._size -= self._turns.popitem(last=False)[1].size

    def find(self, calls: Sequence[str], agent: str, *, is_newest: bool, where: str) -> HandedTurn | None:
        """The turn of which these calls are; None for calls of which nothing is known that the caller does not have.

        Raises BadRequest where the results of calls that have just been answered are forgotten.
        """
        found = _ID.fullmatch(calls[0]) if calls else None
        if found is None:
            return None
        turn = self._turns.get(found[1])
        if turn is not None and turn.agent == agent:
            self._turns.move_to_end(found[1])
            return turn
        if found[2] and is_newest:
            raise BadRequest(
                f"the turn that wanted the calls of `{where}` is forgotten, and with it the results of other tools",
                hint="ask the last question again",
                param=where,
            )
        return None


def _find_turn(messages: Sequence[Message]) -> int:
    """Where the last turn of the model is: ids of calls are those of one turn, and may be those of another as well."""
    return max((place for place, message in enumerate(messages) if message.role == "assistant"), default=-1)


def join_results(turn: HandedTurn, results: Mapping[str, dict[str, Any]], where: str) -> list[Any]:
    """The messages of a turn with the results of the caller's calls, in call order. Raises BadRequest."""
    missing = [name for name in turn.calls if name not in results]
    if missing or len(results) > len(turn.calls):
        wrong = missing or [name for name in results if name not in turn.calls]
        problem = "has no result" if missing else "is none of its calls"
        raise BadRequest(f'"{wrong[0]}" of `{where}` {problem}: each call is answered once', param=where)
    last = _find_turn(turn.messages)
    asked = turn.messages[last]
    names = {call.id: call.name for call in asked.tool_calls}
    answers: dict[str, Any] = {message.tool_call_id: message for message in turn.messages[last + 1 :]}
    for name, inside in turn.calls.items():
        answers[inside] = {**results[name], "toolCallId": inside, "name": names[inside]}
    return [*turn.messages[: last + 1], *(answers[call.id] for call in asked.tool_calls)]
