"""What a model reads of a tool's output: never nothing, not too much, and text that UTF-8 can hold."""

from collections.abc import Sequence
from typing import Any

from runtime.ai.content import EMPTY, parts_of
from runtime.ai.contracts import Part, Text
from runtime.errors import ToolError


def read_output(output: Any, longest: int) -> str | list[Part]:
    """Text if that is all there is, else parts; past `longest` characters of text a note says that it was cut.

    Raises `ToolError` ERR_TOOL_FAILED for an output that is no JSON value.
    """
    only = _only_text(output)
    if only is not None and len(only) <= longest:  # as mostly
        return repair_text(only) if only.strip() else EMPTY
    try:
        parts = parts_of(output)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"the tool gave back what is no JSON value: {error}") from error
    length = sum(len(part.text) for part in parts if isinstance(part, Text))
    if length > longest:
        note = f"\n[the result is cut here: it has {length} characters, and {longest} are shown]"
        parts = [*_shorten(parts, longest), Text(note)]
    if all(isinstance(part, Text) for part in parts) and (isinstance(output, str) or len(parts) == 1):
        text = "".join(part.text for part in parts if isinstance(part, Text))
        return repair_text(text) if text.strip() else EMPTY
    return [Text(repair_text(part.text)) if isinstance(part, Text) else part for part in parts]


def _only_text(output: Any) -> str | None:
    """The text of an output that is one, or the only part of one."""
    if type(output) is list and len(output) == 1 and type(output[0]) is Text:
        return output[0].text
    return output if type(output) is str else None


def _shorten(parts: Sequence[Part], longest: int) -> list[Part]:
    kept: list[Part] = []
    for part in parts:
        if isinstance(part, Text):
            part, longest = Text(part.text[:longest]), max(longest - len(part.text), 0)
        if not isinstance(part, Text) or part.text:
            kept.append(part)
    return kept


def repair_text(text: str) -> str:
    """The text with each half of a surrogate pair replaced: such halves come from odd JSON and from command lines."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
