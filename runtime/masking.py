"""Secrets out of everything that is printed, logged or stored: their values, as base64, URL-encoded and in JSON too."""

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"
_SHORTEST = 4
"""A shorter value is not looked for: it would turn half of every text into stars and hide nothing."""


class Masker:
    """Replaces the values of secrets by `***`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self._forms = longest_first

    def unfinished(self, text: str) -> int:
        """How many characters at the end of a text could be the start of something to mask."""
        longest = len(self._forms[0]) - 1 if self._forms else 0
        for length in range(min(longest, len(text)), 0, -1):
            end = text[len(text) - length :]
            if any(form.startswith(end) for form in self._forms):
                return length
        return 0

    def __call__(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(MASK, text)


class StreamMasker:
    """Masks text that comes in pieces: as much is held back as could be the start of a secret."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now; empty where everything is held back."""
        text = self._masker(self._held + piece)
        keep = self._masker.unfinished(text)
        self._held = text[len(text) - keep :] if keep else ""
        return text[: len(text) - keep] if keep else text

    def flush(self) -> str:
        """What was held back, once nothing more comes."""
        text, self._held = self._masker(self._held), ""
        return text


def mask_json(value: Any, masker: Masker) -> Any:
    """A JSON value with every string in it masked, keys too."""
    if isinstance(value, str):
        return masker(value)
    if isinstance(value, Mapping):
        return {masker(str(key)): mask_json(item, masker) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask_json(item, masker) for item in value]
    return value


def _forms(secret: str) -> set[str]:
    data = secret.encode("utf-8", "surrogateescape")
    forms = {secret, quote(secret, safe=""), quote(secret), quote_plus(secret), _json_text(secret)}
    forms |= {_base64_core(data, shift) for shift in range(3)}
    forms |= {form.replace("+", "-").replace("/", "_") for form in list(forms) if form != secret}
    return {form for form in forms if len(form) >= _SHORTEST}


def _base64_core(data: bytes, shift: int) -> str:
    """The base64 characters that depend on the data alone, where it starts `shift` bytes into a group of three."""
    encoded = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
    first = (0, 2, 3)[shift]
    last = len(encoded) - (1 if (shift + len(data)) % 3 else 0)
    core = encoded[first:last]
    return core if len(core) >= 8 else ""


def _json_text(secret: str) -> str:
    import json

    return json.dumps(secret)[1:-1]
