"""Regular expressions on texts that a model wrote, at a cost that no pattern can drive up.

Python's `re` backtracks: a pattern such as `(a+)+$` takes exponential time there. A pattern in which there is at most
one choice to go back to runs there all the same; any other goes to RE2, which takes linear time and knows `\\p{L}`.
"""

import re
from functools import lru_cache
from typing import Any

from runtime.ai.formats.schema.patterns import to_python

_LONGEST = 1000
_CHOICE = re.compile(r"[*+?]|\{\d*,\d*\}")
_BRANCHING = re.compile(r"[(|]")


def matches(pattern: str, text: str) -> bool | None:
    """Whether the pattern occurs in the text; None where that cannot be told: RE2 looks neither ahead nor back."""
    if len(text) <= _LONGEST and not _BRANCHING.search(pattern) and len(_CHOICE.findall(pattern)) <= 1:
        spelling = to_python(pattern)
        if spelling is not None:
            return re.search(spelling, text) is not None
    try:
        found = _linear().eval(data={"pattern": pattern, "text": text}).value()
    except UnicodeError:  # half a surrogate pair
        return None
    return found if isinstance(found, bool) else None


@lru_cache(maxsize=1)
def _linear() -> Any:
    from cel_expr_python import cel  # its `matches` is RE2, and it is here already for expressions

    environment = cel.NewEnv(variables={"pattern": cel.Type.STRING, "text": cel.Type.STRING})
    return environment.compile("text.matches(pattern)")
