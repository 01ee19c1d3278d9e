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


def looks_around(pattern: str) -> bool:
    """Whether the expression may look ahead or behind."""
    return _LOOKAROUND.search(pattern) is not None


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
