"""A mapping or list while it is being built."""

from typing import Any

from runtime.manifest.document import Mapping, Sequence


class Level:
    """What is known of it so far."""

    __slots__ = ("anchor", "container", "count", "discard", "index", "key", "key_index", "marks", "merges", "merging")

    def __init__(self, container: Mapping | Sequence, index: int, anchor: str | None, count: int) -> None:
        self.container = container
        self.index = index
        self.anchor = anchor
        self.count = count  # values of the document before this one, to know how many it stands for
        self.key: str | None = None
        self.key_index = 0
        self.merging = False  # whether the key is a merge key
        self.merges: list[Mapping] | None = None
        self.discard: Any = None  # what takes the container's place when its tag says so
        self.marks: tuple[int, int, int, int] | None = None
