"""Digests of tools: SHA-256 of their canonical JSON (RFC 8785, JSON Canonicalization Scheme)."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any


def digest_tool(name: str, fields: Mapping[str, Any]) -> str:
    """The digest of a tool's name and locked fields, in hexadecimal digits."""
    import rfc8785

    tool = {"name": name, **fields}
    try:
        data = rfc8785.dumps(tool)
    except rfc8785.IntegerDomainError:
        data = rfc8785.dumps(_as_doubles(tool))
    return sha256(data).hexdigest()


def _as_doubles(value: Any) -> Any:
    """The value with each number as RFC 8785 (3.2.2.3) sees it: an IEEE double, or text where it is beyond those."""
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return str(value)
    if isinstance(value, Mapping):
        return {key: _as_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_doubles(item) for item in value]
    return value
