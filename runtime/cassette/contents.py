"""What a cassette holds, as values."""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct, field

from runtime.errors import ExpectationError

LAYOUT = 1
"""The version of the files."""

Mode = Literal["strict", "lenient"]


class Exchange(Struct):
    """A request and what came of it, both JSON values.

    `is_masked` says that the request held secrets: a `***` in it stands for any text. The answer is `{text, pieces,
    toolCalls, finishReason, usage, providerData}` of a model, `{result}` of everything else; in the place of its end or
    result stands `error`, or `cancelled: true` where whoever asked did not wait for it.
    """

    request: dict[str, Any]
    answer: dict[str, Any]
    is_masked: bool = False


class ToolList(Struct):
    """Tools that were listed once so many exchanges were over."""

    after: int
    tools: list[Any]


class Recording(Struct):
    """What went on with one resource. `facts` is what else its instance says of itself."""

    key: str
    contract: str
    facts: dict[str, Any] = field(default_factory=dict)
    ignore: Sequence[str] = ()
    tool_lists: list[ToolList] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)


class CassetteError(ExpectationError):
    """A cassette is not there, cannot be read, or does not have what is asked of it."""

    code = "ERR_CASSETTE"
