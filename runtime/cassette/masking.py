"""Secrets out of what is recorded, binary data included."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from runtime.masking import Masker


def mask_value(value: Any, masker: Masker) -> Any:
    """A JSON value without secrets; keys and their order stay, but for keys that hold one.

    Binary data in which base64 does not show a secret, but the bytes do, stays binary data without it.
    """
    if isinstance(value, str):
        return masker(value)
    if isinstance(value, Mapping):
        field = find_binary(value)
        return {
            masker(str(key)): _mask_binary(item, masker) if key == field else mask_value(item, masker)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [mask_value(item, masker) for item in value]
    return value


def find_binary(value: Mapping[str, Any]) -> str | None:
    """The field of a mapping that holds base64: `data` of an image or a sound, `blob` of a resource."""
    if isinstance(value.get("data"), str) and (isinstance(value.get("mimeType", value.get("mediaType")), str)):
        return "data"
    return "blob" if isinstance(value.get("blob"), str) and isinstance(value.get("uri"), str) else None


def decode_binary(text: str) -> bytes | None:
    """The bytes of a base64 text; None where encoding them would not give the same text."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


def _mask_binary(text: str, masker: Masker) -> str:
    shown = masker(text)  # as it is masked in a text that holds it: a replay compares the two
    data = decode_binary(shown)
    if data is None:
        return shown
    held = data.decode("utf-8", "surrogateescape")
    masked = masker(held)
    return shown if masked == held else base64.b64encode(masked.encode("utf-8", "surrogateescape")).decode()
