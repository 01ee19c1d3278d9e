"""Documents and the values in them: plain mappings, lists and scalars that know where they stand.

A place is the index of a character in the text of the source; `Source.position` makes it a line and a column when a
finding needs them. Scalars are plain Python values, so their places are kept by the mapping or list they stand in.
"""

from collections.abc import Iterator
from typing import Any

from runtime.manifest.source import Source


class Mapping(dict[str, Any]):
    """A mapping: `start` is its place, `places[key]` the places of the key and of its value."""

    __slots__ = ("places", "start")

    start: int
    places: dict[str, tuple[int, int]]


class Sequence(list[Any]):
    """A list: `start` is its place, `places[i]` the place of its element i."""

    __slots__ = ("places", "start")

    start: int
    places: list[int]


class Ref:
    """`!ref Name`."""

    __slots__ = ("name", "place")

    def __init__(self, name: str, place: int) -> None:
        self.name = name
        self.place = place


class Include(str):
    """`!include-text path`; the string is the path."""

    __slots__ = ("place",)

    place: int


class Broken:
    """A value of which everything has been said: what stands here is not checked further."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


class Expression(str):
    """A string with `${{ }}` in it, or the text of `!cel`; the string is the value as YAML gives it.

    `is_tagged` says that the whole string is one expression without braces. `place` and `end` are where the scalar
    stands in the text, `style` is how it is written there: `` (plain), `'`, `"`, `|` or `>`. `type` is what the checks
    found the value to be, in the words of JSON Schema, or `any`.
    """

    __slots__ = ("end", "is_tagged", "place", "style", "type")

    type: str
    place: int
    end: int
    style: str
    is_tagged: bool


class Document:
    """One document of a manifest: the mapping at its root, and what the loader noticed on the way."""

    __slots__ = ("body", "expressions", "includes", "refs", "source")

    def __init__(self, source: Source, body: Mapping) -> None:
        self.source = source
        self.body = body
        self.refs: list[Ref] = []
        self.expressions: list[Expression] = []
        self.includes: list[Include] = []


def strings(value: Any, place: int) -> Iterator[tuple[str, int]]:
    """Every string of a value with its place, keys with them; a part that several aliases share comes once for each."""
    todo = [(value, place)]
    while todo:
        value, place = todo.pop()
        if isinstance(value, str):
            yield value, place
        elif isinstance(value, Mapping):
            for key, item in value.items():
                todo += [(key, value.places[key][0]), (item, value.places[key][1])]
        elif isinstance(value, Sequence):
            todo.extend(zip(value, value.places, strict=True))
