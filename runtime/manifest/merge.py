"""Merge keys (`<<`): a mapping's own keys win, then the mappings merged first."""

from runtime.manifest.document import Mapping


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
