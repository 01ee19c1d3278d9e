"""What servers that speak Chat Completions add to it, and want back with the calls of a turn: reasoning, signatures.

`reasoning_content` (DeepSeek, and servers of open models: refused without it), `reasoning` and `reasoning_details`
(OpenRouter), and `extra_content` on a call (Gemini's signatures: refused without them). OpenAI itself sends none of it.
"""

from collections.abc import Mapping
from typing import Any

_TEXTS = ("reasoning_content", "reasoning")
_GROWING = ("text", "summary")
"""What of a detail comes in pieces; all else of it comes whole."""


class Reasoning:
    """Collects a turn's additions as they come."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []

    def add(self, pieces: Mapping[str, Any], details: Any) -> None:
        """`pieces` are texts by the fields that they came in; an empty one counts, since a server may want it back."""
        for name in _TEXTS:
            if isinstance(pieces.get(name), str):
                self._texts.setdefault(name, []).append(pieces[name])
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, dict):
                self._add_detail(detail)

    def _add_detail(self, detail: dict[str, Any]) -> None:
        """A piece of the last detail, or the next one: pieces share kind and index."""
        last = self._details[-1] if self._details else None
        if last is None or any(last.get(key) != detail.get(key) for key in ("type", "index")):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in _GROWING and isinstance(value, str) and isinstance(last.get(key), str):
                last[key] += value
            elif value is not None:
                last[key] = value

    def fields(self) -> dict[str, Any]:
        """The fields that go back in the message; none where nothing came."""
        fields: dict[str, Any] = {name: "".join(pieces) for name, pieces in self._texts.items()}
        return {**fields, "reasoning_details": self._details} if self._details else fields
