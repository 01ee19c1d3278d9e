"""What the caller of one run wants of it beside its inputs: tools of its own, a choice of tool, options, a form."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from runtime.ai.contracts import Tool
from runtime.ai.output import OutputRule


class Wishes(Struct, frozen=True, kw_only=True):
    """What goes before the manifest in one run.

    `tools` are carried out by the caller: a turn that calls one of them ends the run, which tells the calls.
    `tool_choice` is as in `ModelRequest`, empty for that of the manifest, whose `none` always holds. `options` are
    those of `runtime.ai.common_options`. `output` is the form of the answer, for an agent that has none of its own.
    """

    tools: Sequence[Tool] = ()
    tool_choice: str = ""
    options: Mapping[str, Any] = {}
    output: OutputRule | None = None
