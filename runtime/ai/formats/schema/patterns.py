"""Regular expressions of schemas: which ones a provider takes."""

import re
import warnings
from functools import lru_cache

_LONGEST = 5000
_LOOKAROUND = re.compile(r"\(\?(?:=|!|<=|<!)")
_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z_])")


@lru_cache(maxsize=4096)
def to_python(pattern: str) -> str | None:
    """The expression as Python's `re` compiles it; None where it does not. ECMA-262's named groups are rewritten."""
    for spelling in dict.fromkeys((pattern, _NAMED_GROUP.sub("(?P<", pattern))):
        if compile_quietly(spelling) is not None:
            return spelling
    return None


@lru_cache(maxsize=4096)
def to_portable(pattern: str) -> str | None:
    """The expression as any engine takes it: as `to_python`, and None where it looks ahead or behind."""
    return None if _LOOKAROUND.search(pattern) else to_python(pattern)


def is_portable(pattern: str) -> bool:
    """Whether any engine takes the expression as it is."""
    return to_portable(pattern) == pattern


def compile_quietly(pattern: str) -> re.Pattern[str] | None:
    """The compiled expression, None where Python has none; a doubtful spelling is no reason for a warning."""
    if len(pattern) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None
