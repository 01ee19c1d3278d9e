"""Which tools of a provider an agent offers: `include` and `exclude`, by bare names and globs.

The agent's loop and the checks of a manifest go by these rules alike.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

NAMES_SHOWN = 50
"""Tool names in a hint, at most."""


if TYPE_CHECKING:
    from typing import Protocol

    class Named(Protocol):
        """Whatever has a tool's name."""

        @property
        def name(self) -> str: ...

    T = TypeVar("T", bound=Named)
else:
    T = TypeVar("T")


def select(tools: Sequence[T], include: Sequence[str] | None, exclude: Sequence[str]) -> Sequence[T]:
    """The tools that are included, or all of them without `include`, less those that are excluded, in their order."""
    if include is None and not exclude:
        return tools
    is_included = make_filter(include) if include is not None else None
    is_excluded = make_filter(exclude)
    return [
        tool
        for tool in tools
        if (is_included is None or is_included(tool.name)) and not (exclude and is_excluded(tool.name))
    ]


def make_filter(entries: Iterable[str]) -> Callable[[str], bool]:
    """Whether a name is one of the entries, or fits one that is a glob."""
    names = frozenset(entries)
    globs = [_match_glob(entry) for entry in names if _is_glob(entry)]
    return lambda name: name in names or any(fits(name) for fits in globs)


def find_idle(entries: Iterable[str], names: Iterable[str]) -> list[str]:
    """The entries that no name fits, in their order."""
    known = frozenset(names)
    return [
        entry
        for entry in entries
        if entry not in known and not (_is_glob(entry) and any(map(_match_glob(entry), known)))
    ]


def _is_glob(entry: str) -> bool:
    return any(mark in entry for mark in "*?[")


def _match_glob(entry: str) -> Callable[[str], object]:
    import re
    from fnmatch import translate

    return re.compile(translate(entry)).match


def hint_at_names(idle: Sequence[str], prefix: str, names: Sequence[str]) -> str:
    """What to do about entries that no name fits: the names that there are, and that they are bare."""
    shown = sorted(names)[:NAMES_SHOWN]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    hint = f"the provider lists: {', '.join(shown)}{more}" if names else "the provider lists no tools"
    if prefix and any(entry.startswith(prefix) for entry in idle):
        hint = f'filters take bare names, without the prefix "{prefix}"; {hint}'
    return hint


def hint_at_prefix(provider: str) -> str:
    """What to do about two providers whose tools end up with one name."""
    return f'give one of them a prefix, such as `prefix: "{provider.lower()}_"`, or exclude the tool'
