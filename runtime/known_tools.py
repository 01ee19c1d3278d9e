"""What is known of tools with nothing started, from a lock or from the manifest itself: the words that kinds say it in.

A kind that provides tools tells which (`Kind.known_tools`), one that offers tools to a model tells how
(`Kind.find_offer`). The checks and `runtime plan` put the two together.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct


class KnownTool(Struct, frozen=True):
    """A tool by the name under which its provider will list it.

    `read` gives its `description` and its `inputSchema`, where it has them; it may have to be parsed for that.
    `lossy_for` are the tool formats (`runtime.ai.formats`) that cannot express its schema in full; None where nobody
    has looked.
    """

    name: str
    read: Callable[[], Mapping[str, Any]]
    lossy_for: Sequence[str] | None = None

    def named(self, name: str) -> "KnownTool":
        """The same tool under another name."""
        return KnownTool(name, self.read, self.lossy_for)

    @property
    def description(self) -> str:
        text = self.read().get("description")
        return text if isinstance(text, str) else ""

    @property
    def parameters(self) -> dict[str, Any]:
        """The schema of its arguments; without one it takes any object."""
        schema = self.read().get("inputSchema")
        return schema if isinstance(schema, dict) else {"type": "object", "properties": {}}


class ToolUse(Struct, frozen=True):
    """One entry by which a resource takes tools from a provider.

    `path` is where the entry stands in the resource: a mapping with `provider` and perhaps `prefix`, `include` and
    `exclude`. `provider` is the provider's name in messages, `tools` what it is known to list, None where that is not
    known.
    """

    path: tuple[str | int, ...]
    provider: str
    tools: Sequence[KnownTool] | None
    prefix: str = ""
    include: Sequence[str] | None = None
    exclude: Sequence[str] = ()


class ToolOffer(Struct, frozen=True):
    """The tools that a resource offers to its model, entry by entry.

    `tool_format` names the model's format in `runtime.ai.formats`, empty where it takes tools as they are. `max_tools`
    is the most that the model takes; None leaves it to the format, and 0 is no limit.
    """

    uses: Sequence[ToolUse]
    tool_format: str = ""
    max_tools: int | None = None
