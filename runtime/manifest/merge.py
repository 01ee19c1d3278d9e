"""Merge keys (`<<`): a mapping's own keys win, then the mappings merged first."""

from typing import Any

from runtime.manifest.document import Mapping, Sequence


def merge(target: Mapping, merges: list[tuple[Any, int]], limit: int) -> int:
    """Bring into `target` what its merge keys name; gives how many values were looked at, and stops behind `limit`.

    What is merged keeps the places it has where it is written. A value that is neither a mapping nor a list of mappings
    stays under the key `<<`, where the schema of the resource finds it.
    """
    looked_at = 0
    for value, index in merges:
        parts = list(value) if type(value) is Sequence else [value]
        if not all(type(part) is Mapping for part in parts):
            target["<<"] = value
            target.places["<<"] = (index, index)
            continue
        for part in parts:
            looked_at += len(part)
            if looked_at > limit:
                return looked_at
            for key, item in part.items():
                if key not in target:
                    target[key] = item
                    target.places[key] = part.places[key]
    return looked_at
