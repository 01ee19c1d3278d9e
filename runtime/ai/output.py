"""A structured answer: what a model is told of its form, and how the text that it gives is read."""

from collections.abc import Mapping
from typing import Any

import msgspec

from runtime.ai.content import encode
from runtime.ai.contracts import FinishReason
from runtime.ai.value_check import ValueCheck
from runtime.errors import AgentError

SHOWN = 300
"""Characters of an answer that an error shows."""

_FENCE = "```"


class OutputRule:
    """The form of an agent's answer, by its JSON Schema.

    The model is told in words, which every model understands: `instruction` joins the system text. A provider's own
    JSON mode may be turned on beside it through `options`, and is not relied on.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._check = ValueCheck(schema)
        self.notes = self._check.notes
        self.instruction = (
            "When you have the answer, give it as one JSON value that fits this JSON Schema, and write nothing else: "
            f"no words before or after it.\n{encode(schema)}"
        )

    def read(self, text: str, reason: FinishReason) -> Any:
        """The JSON value that an answer's text is; the only block in a fence counts where the whole is no JSON.

        Raises `AgentError` ERR_AGENT_OUTPUT: no JSON, or a value that does not fit the schema.
        """
        try:
            value = _decode(text)
        except (ValueError, RecursionError) as error:
            cut = ", cut off at the limit of tokens" if reason == "length" else ""
            raise _refuse(f"the answer is no JSON{cut}: {error}", text) from error
        faults = self._check.find_faults(value)
        if faults:
            raise _refuse(f"the answer does not fit `output.schema`: {faults}", text)
        return value

    @staticmethod
    def ask_again(error: AgentError) -> str:
        """What the model is told when its answer was refused."""
        return (
            f"Your answer cannot be used: {error.message.replace('`output.schema`', 'the JSON Schema')}\n"
            "Answer again with one JSON value that fits the JSON Schema, and nothing else."
        )


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        inside = _unfence(text)
        if inside is None:
            raise
    return msgspec.json.decode(inside)


def _unfence(text: str) -> str | None:
    """What stands between the first line that is a fence and the last one: no JSON text has a line like that."""
    lines = text.split("\n")
    fences = [place for place, line in enumerate(lines) if line.lstrip().startswith(_FENCE)]
    return "\n".join(lines[fences[0] + 1 : fences[-1]]) if len(fences) > 1 else None


def _refuse(message: str, text: str) -> AgentError:
    return AgentError(
        message,
        code="ERR_AGENT_OUTPUT",
        hint=f"it was: {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}" if text else "it was empty",
        details={"text": text},
    )
