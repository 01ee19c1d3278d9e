"""What a manifest says of a store, read: durations, and the address of its database."""

import os
import re

_DURATION = re.compile(r"(\d+)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

DURATION_PATTERN = "^[0-9]+(ms|s|m|h|d)$"
"""The JSON Schema's pattern of a duration."""

SQLITE, POSTGRES = "sqlite:///", ("postgresql://", "postgres://")


def read_duration(text: str) -> float:
    """Seconds of a duration such as `60s` or `7d`; raises ValueError."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f'"{text}" is no duration such as "60s", "5m", "12h" or "7d"')
    return int(found[1]) * _SECONDS[found[2]]


def find_url_fault(url: str) -> str | None:
    """Why an address is none that a store can have; None where it is one."""
    if url.startswith(SQLITE):
        return None if url.removeprefix(SQLITE) else 'a SQLite store needs a file: "sqlite:///runs.db"'
    if url.startswith(POSTGRES):
        return None
    scheme = url.partition(":")[0] if ":" in url else ""
    found = f'the scheme is "{scheme}"' if scheme else "it has no scheme"
    return f'{found}; a store is at "sqlite:///FILE" or at "postgresql://..."'


def find_file(url: str, folder: str) -> str | None:
    """The file of a SQLite store, which is relative to the manifest's folder; None for a server."""
    return os.path.join(folder, url.removeprefix(SQLITE)) if url.startswith(SQLITE) else None
