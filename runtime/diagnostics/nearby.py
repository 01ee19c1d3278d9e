"""Which known name is nearest to a wrong one, for hints."""

from collections.abc import Iterable
from typing import Any

_MOST_COMPARED = 1000
"""Names that are compared letter by letter with one wrong name."""
_MOST_COMPARISONS = 30_000
"""Of all wrong names together: a text with more of them was written by a machine."""


class Nearby:
    """Known names, to find the one that is nearest to a wrong one.

    Upper and lower case and underscores count for nothing. Among very many names, or for very many wrong ones, that is
    all that is tried: comparing letter by letter would take longer than everything else.
    """

    def __init__(self, known: Iterable[Any], cutoff: float = 0.6) -> None:
        """`cutoff` (0 to 1) is how much alike two names have to be."""
        self._names = [str(name) for name in known]
        self._folded: dict[str, str] = {}
        for name in self._names:
            self._folded.setdefault(_fold(name), name)
        self._cutoff = cutoff
        self._left = _MOST_COMPARISONS
        self._found: dict[str, str | None] = {}

    def find(self, name: str) -> str | None:
        """The nearest name, or None where none is near."""
        if name not in self._found:
            self._found[name] = self._folded.get(_fold(name)) or self._closest(name)
        return self._found[name]

    def _closest(self, name: str) -> str | None:
        if len(self._names) > min(_MOST_COMPARED, self._left):
            return None
        from difflib import get_close_matches

        self._left -= len(self._names)
        return next(iter(get_close_matches(name, self._names, 1, self._cutoff)), None)

    def hint(self, name: str) -> str | None:
        """`did you mean "x"?`, or None where no name is near."""
        found = self.find(name)
        return f'did you mean "{found}"?' if found is not None else None


def _fold(name: str) -> str:
    return name.casefold().replace("_", "")


def nearest(name: str, known: Iterable[Any]) -> str | None:
    """The hint for one wrong name among known ones."""
    return Nearby(known).hint(name)
