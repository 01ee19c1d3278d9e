"""What a scripted model sees of a request."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from runtime.ai.content import flatten
from runtime.ai.contracts import Message, ModelRequest, TextDelta

_PIECES = re.compile(r"\s*\S+\s*$|\s*\S+|\s+")


class Conversation:
    """A request as conditions and expressions see it."""

    def __init__(self, request: ModelRequest) -> None:
        messages = request.messages
        self.turn = 1 + sum(message.role == "assistant" for message in messages)
        self.user = _newest_text(messages, "user")
        self.system = _newest_text(messages, "system")
        self.tools = [tool.name for tool in request.tools]
        self.results = [flatten(message.content) for message in _newest_results(messages)]
        self.result = self.results[-1] if self.results else None

    def scope(self, match: dict[str, str]) -> dict[str, Any]:
        """The names that expressions see."""
        results = [_read_json(text) for text in self.results]
        return {"user": self.user, "match": match, "result": results[-1] if results else None, "results": results}


def _newest_text(messages: Sequence[Message], role: str) -> str:
    return next((flatten(message.content) for message in reversed(messages) if message.role == role), "")


def _newest_results(messages: Sequence[Message]) -> list[Message]:
    """The tool messages at the end of the conversation, which are the last turn's, in call order."""
    results: list[Message] = []
    for message in reversed(messages):
        if message.role != "tool":
            break
        results.insert(0, message)
    return results


def _read_json(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def split_text(text: str) -> Iterator[TextDelta]:
    """The text as it streams: one delta a word."""
    return (TextDelta(piece) for piece in _PIECES.findall(text))
