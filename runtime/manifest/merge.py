"""Merge keys (`<<`): a mapping's own keys win, then the mappings merged first."""

from collections.abc import Callable
from typing import Any

from runtime.manifest.document import Broken, Expression, Mapping, Ref, Sequence


def mergeable(value: Any, index: int, fail: Callable[[str, int, str], None]) -> list[Mapping]:
    """The mappings that a merge key with that value brings in; `fail` is told of everything else."""
    parts, places = (value, value.places) if type(value) is Sequence else ([value], [index])
    for part, place in zip(parts, places, strict=True):
        if isinstance(part, Ref):
            fail("REF_MISPLACED", place, "a merge key takes no reference")
        elif isinstance(part, Expression):
            fail("CEL_MISPLACED", place, "a merge key is not evaluated")
        elif not isinstance(part, (Mapping, Broken)):
            fail("SCHEMA_TYPE", place, 'the merge key "<<" takes a mapping or a list of mappings')
    return [part for part in parts if type(part) is Mapping]


def merge(target: Mapping, parts: list[Mapping], limit: int) -> int:
    """Bring into `target` what its merge keys name; gives how many values were looked at, and stops behind `limit`.

    What is merged keeps the places it has where it is written.
    """
    looked_at = 0
    for part in parts:
        looked_at += len(part)
        if looked_at > limit:
            return looked_at
        for key, item in part.items():
            if key not in target:
                target[key] = item
                target.places[key] = part.places[key]
    return looked_at
