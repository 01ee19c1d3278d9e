"""Events: what a run tells while it happens, and the answer that they add up to.

A run gives, for each turn of the model, `text-delta`s, `media` where it made any, then the turn's `tool-call`s and
their `tool-result`s, both in call order and each result as soon as it and those before it are there, or one
`output-refused`; at its end exactly one `finish` or `error`. A task that does its work anew tells `retry` between.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import UNSET, Struct, UnsetType, to_builtins

from runtime.ai.contracts import FinishReason, Image, Part, TextDelta, Usage
from runtime.errors import Error


class ToolCalled(Struct, frozen=True, tag_field="type", tag="tool-call"):
    """The model wants a tool, named as the agent offers it. `arguments` is the JSON value, or the text that is none."""

    id: str
    name: str
    arguments: Any


class ToolAnswered(Struct, frozen=True, rename="camel", omit_defaults=True, tag_field="type", tag="tool-result"):
    """What the model reads of a call. `rest` is what it does not read; `code` tells why an error is one.

    With `ends_run` the call handed the conversation over: the first of `rest` is the answer, and the run's.
    """

    tool_call_id: str
    name: str
    content: str | Sequence[Part]
    is_error: bool = False
    code: str = ""
    rest: Sequence[Any] = ()
    duration_ms: float = 0.0
    ends_run: bool = False


class MediaMade(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="media"):
    """What the model made in the turn beside its text: images, and in `rest` what reaches nobody, as it came."""

    images: Sequence[Image] = ()
    rest: Sequence[Any] = ()


class OutputRefused(Struct, frozen=True, tag_field="type", tag="output-refused"):
    """The turn's text is not the structured answer that the agent has to give; the model is asked once more."""

    message: str


class Retried(Struct, frozen=True, tag_field="type", tag="retry"):
    """The work failed and is done anew: of what was told before it nothing is in the answer. The message is why."""

    message: str


class Finished(Struct, frozen=True, rename="camel", tag_field="type", tag="finish"):
    """The run's end: the last turn's text and images, why the model stopped, the tokens of all turns; `output` if
    structured.

    `tool_calls` are those that the caller of the run has to carry out.
    """

    text: str
    finish_reason: FinishReason
    usage: Usage
    output: Any | UnsetType = UNSET
    tool_calls: Sequence[ToolCalled] | UnsetType = UNSET
    images: Sequence[Image] | UnsetType = UNSET


class Failed(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="error"):
    """The run's end by an error, which the run raises right after it."""

    code: str
    message: str
    resource: str | None = None
    hint: str | None = None
    details: Mapping[str, Any] = {}

    @classmethod
    def of(cls, error: Error) -> "Failed":
        return cls(error.code, error.message, error.resource, error.hint, error.details)


Event = TextDelta | MediaMade | ToolCalled | ToolAnswered | OutputRefused | Retried | Finished | Failed


class Answer:
    """The events of a run, collected: `{text, usage, finishReason, steps, output?, toolCalls?, images?}`.

    A step is one turn of the model: `{text, toolCalls: [{id, name, arguments}], toolResults: [{toolCallId, name,
    content, isError?, code?, rest?, durationMs?, endsRun?}], refused?, images?, rest?}`; `refused` is why its text was
    no structured answer, `rest` what the model made that reached nobody.
    """

    def __init__(self) -> None:
        self._steps: list[dict[str, Any]] = []
        self._pieces: list[str] = []
        self._is_open = False
        self._end: Finished | None = None

    def add(self, event: Event) -> None:
        if isinstance(event, ToolAnswered):
            self._close_step()
            self._steps[-1]["toolResults"].append(_without_type(event))
        elif isinstance(event, Failed):
            self._close_step()
        elif isinstance(event, Retried):
            self._close_step()
            self._steps.clear()
        else:
            self._open_step()
            if isinstance(event, TextDelta):
                self._pieces.append(event.text)
            elif isinstance(event, ToolCalled):
                self._steps[-1]["toolCalls"].append(_without_type(event))
            elif isinstance(event, MediaMade):
                self._steps[-1] |= {name: list(made) for name, made in _without_type(event).items()}
            elif isinstance(event, OutputRefused):
                self._steps[-1]["refused"] = event.message
                self._close_step()
            else:
                self._end = event
                self._close_step()

    def _open_step(self) -> None:
        if not self._is_open:
            self._steps.append({"text": "", "toolCalls": [], "toolResults": []})
            self._is_open = True

    def _close_step(self) -> None:
        if self._is_open:
            self._steps[-1]["text"] = "".join(self._pieces)
            self._pieces.clear()
            self._is_open = False

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The turns so far: what there is of a run that failed."""
        return self._steps

    def to_json(self) -> dict[str, Any]:
        """The answer of a run that finished, as JSON values."""
        if self._end is None:
            raise ValueError("the run has not finished")
        answer: dict[str, Any] = {
            "text": self._end.text,
            "usage": to_builtins(self._end.usage),
            "finishReason": self._end.finish_reason,
            "steps": self._steps,
        }
        if self._end.output is not UNSET:
            answer["output"] = self._end.output
        if not isinstance(self._end.tool_calls, UnsetType):
            answer["toolCalls"] = [_without_type(call) for call in self._end.tool_calls]
        if not isinstance(self._end.images, UnsetType):
            answer["images"] = list(to_builtins(self._end.images))
        return answer


async def collect(events: AsyncGenerator[Event, None]) -> dict[str, Any]:
    """The answer that the events of a run come to (`Answer.to_json`); raises what they raise, and closes them."""
    answer = Answer()
    async with aclosing(events):
        async for event in events:
            answer.add(event)
    return answer.to_json()


def _without_type(event: Event) -> dict[str, Any]:
    values: dict[str, Any] = to_builtins(event)
    del values["type"]
    return values
