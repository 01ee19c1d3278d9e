"""What of a recording lies in files beside it: binary data, and what is too long to be read in YAML.

In the YAML stands `{$binary: NAME}`, `{$text: NAME}` or `{$json: NAME}`; a mapping that looks like one of these stands
in a `{$literal: ...}`.
"""

import base64
import os
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from runtime.cassette.contents import CassetteError
from runtime.cassette.masking import decode_binary, find_binary

FOLDER = "files"
LONGEST_TEXT = 16 * 1024
"""Characters of a string that stands in the YAML itself."""
LONGEST_JSON = 256 * 1024
"""Bytes of one part of an exchange as JSON: a document of a manifest may have four times as much text."""

_MARKS = ("$binary", "$text", "$json", "$literal")
_ENDINGS = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "audio/wav": ".wav",
    "audio/mpeg": ".mp3",
    "application/pdf": ".pdf",
    "text/plain": ".txt",
}


class FilesBeside:
    """The files of one cassette, by name, for its writer; the name of a file is the digest of what it holds."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def put_out(self, part: Mapping[str, Any]) -> dict[str, Any]:
        """A part of an exchange as it stands in the YAML."""
        shown: dict[str, Any] = self._put_out(part)
        packed = msgspec.json.encode(shown)
        if len(packed) <= LONGEST_JSON:
            return shown
        return {"$json": self._add(msgspec.json.format(packed, indent=2), ".json")}

    def _put_out(self, value: Any) -> Any:
        if isinstance(value, str):
            if len(value) <= LONGEST_TEXT:
                return value
            return {"$text": self._add(value.encode("utf-8", "surrogatepass"), ".txt")}
        if isinstance(value, Mapping):
            field = find_binary(value)
            shown = {
                key: self._put_out_binary(item, value) if key == field else self._put_out(item)
                for key, item in value.items()
            }
            return {"$literal": shown} if len(value) == 1 and next(iter(value)) in _MARKS else shown
        if isinstance(value, (list, tuple)):
            return [self._put_out(item) for item in value]
        return value

    def _put_out_binary(self, text: str, holder: Mapping[str, Any]) -> Any:
        data = decode_binary(text)
        if data is None:
            return self._put_out(text)
        return {"$binary": self._add(data, _ENDINGS.get(holder.get("mimeType") or holder.get("mediaType", ""), ".bin"))}

    def _add(self, data: bytes, ending: str) -> str:
        name = sha256(data).hexdigest()[:20] + ending
        self.contents[name] = data
        return name


def take_in(value: Any, folder: str) -> Any:
    """A value of the YAML with what lies in files of the cassette `folder`; raises CassetteError."""
    if isinstance(value, list):
        return [take_in(item, folder) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        mark, content = next(iter(value.items()))
        if mark == "$literal" and isinstance(content, dict):
            return {key: take_in(item, folder) for key, item in content.items()}
        if mark in _MARKS and isinstance(content, str):
            return _read(mark, content, folder)
    return {key: take_in(item, folder) for key, item in value.items()}


def _read(mark: str, name: str, folder: str) -> Any:
    path = os.path.join(folder, FOLDER, os.path.basename(name))
    try:
        with open(path, "rb") as file:
            data = file.read()
        if mark == "$binary":
            return base64.b64encode(data).decode()
        if mark == "$text":
            return data.decode("utf-8", "surrogatepass")
        return take_in(msgspec.json.decode(data), folder)
    except OSError as error:
        raise CassetteError(f'"{path}" cannot be read: {(error.strerror or "unknown").lower()}') from error
    except ValueError as error:
        raise CassetteError(f'"{path}" does not hold what it should: {error}') from error
