"""JSON-RPC messages on the wire: bytes to plain values and back, lenient towards servers and strict towards memory."""

import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

ENCODE = msgspec.json.Encoder().encode
DECODE = msgspec.json.Decoder().decode

DEPTH_LIMIT = 500  # the decoder and comparisons are safe up to here
NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")

# Patterns as text, and the library as an import in functions: only messages that are odd need them.
HEAD_ID = rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"[^"]{0,8}"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,'
TAIL_ID = rb',\s*"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*"jsonrpc"\s*:\s*"[^"]{0,8}"\s*)?\}\s*$'
STRUCTURE = rb'(?s)[\[\]{}]|"(?:[^"\\]|\\.)*"'
SURROGATE = r"\\u[dD][89a-fA-F]"


class Malformed(Exception):
    """A text that is no message: not JSON, or nested too deeply."""


def encode(message: Mapping[str, Any]) -> bytes:
    """One line of JSON; text that UTF-8 cannot hold (lone surrogates) is replaced."""
    try:
        return ENCODE(message)
    except UnicodeEncodeError:
        import json

        return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")


def decode(data: bytes) -> Any:
    """The value of a JSON text; bytes that are not UTF-8 become U+FFFD, NaN and infinities become null.

    Raises `Malformed`.
    """
    try:
        value = DECODE(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = decode_leniently(data)
    except RecursionError:
        raise Malformed("nested too deeply") from None
    if is_deeper(data, DEPTH_LIMIT):
        raise Malformed("nested too deeply")
    return value


def decode_leniently(data: bytes) -> Any:
    import json

    text = data.decode("utf-8", "replace").lstrip("\ufeff")
    try:
        value = json.loads(text, strict=False, parse_constant=lambda _: None, parse_float=read_float)
        if re.search(SURROGATE, text):
            whole = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            value = json.loads(whole)
    except ValueError as error:
        raise Malformed(str(error)) from None
    except RecursionError:
        raise Malformed("nested too deeply") from None
    return value


def read_float(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def is_deeper(data: bytes, limit: int) -> bool:
    """Whether a JSON text is nested more than `limit` deep; brackets inside its texts may count as nesting.

    Pairs of brackets are taken away from the inside out, all at once, so that this is fast also for large texts.
    """
    if count_up_to(data, b"[", limit) + count_up_to(data, b"{", limit) <= limit:
        return False
    brackets = data.translate(None, NO_BRACKETS)
    for _ in range(limit):
        left = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not left:
            return False
        if len(left) == len(brackets):
            return count_open(data) > limit  # texts with single brackets hide the structure
        brackets = left
    return True


def count_up_to(data: bytes, byte: bytes, limit: int) -> int:
    """How often a byte is there, or a little more than `limit`; `find` is fifty times as fast as `count`."""
    count, at = 0, data.find(byte)
    while at >= 0 and count <= limit:
        count += 1
        at = data.find(byte, at + 1)
    return count


def count_open(data: bytes) -> int:
    """The deepest nesting of a JSON text, to the letter."""
    deepest = depth = 0
    for found in re.finditer(STRUCTURE, data):
        if found[0] in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif found[0] in b"]}":
            depth -= 1
    return deepest


def find_answered(head: bytes, tail: bytes) -> int | None:
    """The id that a lost answer answers, as far as its first or last bytes tell; None for anything else."""
    if b'"method"' in head[:200]:
        return None
    found = re.match(HEAD_ID, head) or re.search(TAIL_ID, tail)
    return int(found.group(1)) if found else None


def read_id(value: Any) -> int | None:
    """Our request id out of an answer: some servers send it back as text, or as `1.0`."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is str and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return None
