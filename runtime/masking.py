"""Secrets out of everything that is printed, logged or stored: their values, as base64, URL-encoded and in JSON too."""

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"
_SHORTEST = 4
"""A shorter value is not looked for: it would turn half of every text into stars and hide nothing."""
_SHORTEST_LINE = 12
"""Of a secret of several lines: a shorter line may be any text."""
_LOWER = re.compile("%[0-9A-F]{2}")


class Masker:
    """Replaces the values of secrets by `***`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self._forms = longest_first

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to mask."""
        return self._pattern is None

    def settled(self, text: str) -> int:
        """How much of a text, from its start, can be masked whatever comes behind it."""
        if self._pattern is None:
            return len(text)
        longest = len(self._forms[0]) - 1
        end = len(text)
        for start in range(max(0, len(text) - longest), len(text)):
            rest = text[start:]
            if any(form.startswith(rest) for form in self._forms if len(form) > len(rest)):
                end = start  # what stands here may be the start of something to mask
                break
        for found in self._pattern.finditer(text):
            if found.start() < end < found.end():
                end = found.start()
        return end

    def __call__(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(MASK, text)


class StreamMasker:
    """Masks text that comes in pieces: as much is held back as could be the start of a secret."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now; empty where everything is held back."""
        text = self._held + piece
        end = self._masker.settled(text)
        self._held = text[end:]
        return self._masker(text[:end])

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
    forms: set[str] = set()
    for part in _parts(secret):
        data = part.encode("utf-8", "surrogateescape")
        encoded = {quote(data, safe=""), quote(data), quote_plus(data)}
        encoded |= {_LOWER.sub(lambda found: found[0].lower(), form) for form in encoded}
        codes = {_base64_core(data, shift) for shift in range(3)}
        codes |= {code.replace("+", "-").replace("/", "_") for code in codes}
        forms |= {part, *encoded, *codes, *_json_texts(part)}
    return {form for form in forms if len(form) >= _SHORTEST}


def _parts(secret: str) -> set[str]:
    """The secret as it is, without blanks around it, and its lines: those may be printed in any way."""
    lines = {line for line in secret.split("\n") if len(line) >= _SHORTEST_LINE} if "\n" in secret.strip() else set()
    return {secret, secret.strip(), *(line.strip() for line in lines)}


def _base64_core(data: bytes, shift: int) -> str:
    """The base64 characters that depend on the data alone, where it starts `shift` bytes into a group of three."""
    encoded = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
    first = (0, 2, 3)[shift]
    last = len(encoded) - (1 if (shift + len(data)) % 3 else 0)
    core = encoded[first:last]
    return core if len(core) >= 8 else ""


def _json_texts(secret: str) -> set[str]:
    """The secret inside a text of JSON: other than ASCII as it is or escaped, the slash escaped or not."""
    import json

    texts = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return texts | {text.replace("/", "\\/") for text in texts}
