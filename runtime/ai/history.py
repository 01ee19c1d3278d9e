"""What of a long conversation is sent to the model: the newest part that fits."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from runtime.ai.contracts import Message, Text

BYTES_A_TOKEN = 4
TOKENS_A_MESSAGE = 4
TOKENS_AN_IMAGE = 1000


class HistoryRule(Struct, frozen=True):
    """The most that a request may hold; None is no limit. System texts count as tokens, not as messages."""

    max_messages: int | None = None
    max_tokens: int | None = None


class History:
    """One run's conversation as its model gets to see it.

    Left out are, oldest first, earlier questions with all that followed them, and then turns of the run at hand, each
    with the results of its calls. System texts, the question and the newest turn are always sent, even if that is too
    much. `start` are the messages that the run starts with; the last one of a user is the question.
    """

    def __init__(self, rule: HistoryRule, start: Sequence[Message]) -> None:
        self._rule = rule
        self._systems = [place for place, message in enumerate(start) if message.role == "system"]
        users = [place for place, message in enumerate(start) if message.role == "user"]
        self._question = users[-1] if users else max(len(start) - 1, 0)
        self._sizes: list[int] = []

    def trim(self, messages: Sequence[Message]) -> list[Message]:
        """The messages to send, the same objects in the same order; `messages` are those of the start and more."""
        self._sizes += [estimate_tokens(message) for message in messages[len(self._sizes) :]]
        question = self._question
        tokens = self._sizes[question] + sum(self._sizes[place] for place in self._systems if place != question)
        room = _Room(self._rule, 1, tokens)
        turns = self._go_back(messages, len(messages), question + 1, "assistant", room, takes_first=True)
        earlier = question
        if turns == question + 1:
            earlier = self._go_back(messages, question, 0, "user", room)
        return [
            *(messages[place] for place in self._systems if place < earlier),
            *messages[earlier : question + 1],
            *(messages[place] for place in self._systems if question < place < turns),
            *messages[turns:],
        ]

    def _go_back(
        self,
        messages: Sequence[Message],
        end: int,
        floor: int,
        role: str,
        room: "_Room",
        *,
        takes_first: bool = False,
    ) -> int:
        """Where the part before `end` begins that has room: of whole stretches, each begun by a message of a role."""
        place = end
        while place > floor:
            start = place - 1
            while start > floor and messages[start].role != role:
                start -= 1
            stretch = [at for at in range(start, place) if messages[at].role != "system"]
            is_taken = room.take(len(stretch), sum(self._sizes[at] for at in stretch))
            if not is_taken and not (takes_first and place == end):
                break
            place = start
        return place


class _Room:
    """How much may still be sent."""

    def __init__(self, rule: HistoryRule, messages: int, tokens: int) -> None:
        self._rule = rule
        self._messages = messages
        self._tokens = tokens

    def take(self, messages: int, tokens: int) -> bool:
        """Take room for so much; False when there is not enough of it."""
        self._messages += messages
        self._tokens += tokens
        rule = self._rule
        return (rule.max_messages is None or self._messages <= rule.max_messages) and (
            rule.max_tokens is None or self._tokens <= rule.max_tokens
        )


def estimate_tokens(message: Message) -> int:
    """About how many tokens a message is: its UTF-8 bytes by 4, and 4; 1000 for an image. Tools are not counted."""
    size = sum(len(call.name) + len(call.arguments.encode("utf-8", "replace")) for call in message.tool_calls)
    images = 0
    for part in [Text(message.content)] if isinstance(message.content, str) else message.content:
        if isinstance(part, Text):
            size += len(part.text.encode("utf-8", "replace"))
        else:
            images += 1
    size += _size_of(message.provider_data)
    return -(-size // BYTES_A_TOKEN) + TOKENS_A_MESSAGE + images * TOKENS_AN_IMAGE


def _size_of(provider_data: Any) -> int:
    """The bytes of what goes back to the provider beside the text, such as its reasoning."""
    return 0 if provider_data is None else len(msgspec.json.encode(provider_data))
