"""What an outline is made of: mappings, lists and scalars, each with its place in the text of its document."""

from collections.abc import Iterator


class Scalar:
    """`place` is where the value starts, with its tag; `start` to `end` is its own text, quotes and all."""

    __slots__ = ("end", "place", "start", "style", "tag", "text")

    def __init__(self, text: str, start: int, end: int, *, style: str = "", tag: str = "", place: int = -1) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.style = style
        self.tag = tag
        self.place = start if place < 0 else place


class Entry:
    """A key of a mapping; one that has no colon is not finished."""

    __slots__ = ("has_colon", "key", "value")

    def __init__(self, key: Scalar, value: "Outline | None", has_colon: bool) -> None:
        self.key = key
        self.value = value
        self.has_colon = has_colon


class Fields:
    """A mapping."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def get(self, key: str) -> "Outline | None":
        """The value of a key that is finished."""
        return next((entry.value for entry in self.entries if entry.has_colon and entry.key.text == key), None)

    def text(self, key: str) -> str:
        """The text of a key whose value is a scalar; empty otherwise."""
        value = self.get(key)
        return value.text if isinstance(value, Scalar) else ""

    def names(self) -> Iterator[str]:
        """The keys that are finished."""
        return (entry.key.text for entry in self.entries if entry.has_colon)


class Items:
    """A list."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[Outline] = []


Outline = Scalar | Fields | Items
