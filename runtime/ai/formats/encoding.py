"""JSON values as JSON text."""

from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8; half a surrogate pair, which UTF-8 cannot hold, stays an escape."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        import json  # for what hardly ever occurs

        return json.dumps(value, separators=(",", ":")).encode()


def write_json(value: Any, limit: int = 400) -> str:
    """A JSON value in one line of at most about `limit` characters, cut where it is longer."""
    text = encode(value).decode()
    return text if len(text) <= limit else text[:limit] + "…"
