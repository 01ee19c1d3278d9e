"""JSON values as YAML that is good to review: one thing a line, text wrapped by sentence.

Every YAML parser reads it alike, 1.1 or 1.2: a string that any of them could take for something else is quoted, and a
character that a reader cannot see is written as an escape.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

WIDTH = 100
LONGEST_KEY = 1000
"""YAML's short form of a key ends at 1024 characters."""

_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$./+-]*(?: [\w$./+-]+)*", re.ASCII)
_PLAIN_TEXT = re.compile(r"[A-Za-z_$][\w$./+,;'\"()-]*(?: [\w$./+,;'\"()-]+)*", re.ASCII)
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
_SENTENCE_END = re.compile(r"(?<=[.;:!?]) (?=\S)")
# C0, DEL, C1; zero-width and bidirectional controls; separators; byte order marks; Unicode tags; lone surrogates
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class Tagged(str):
    """YAML that is written as it stands, on one line, such as `!ref Name`."""


def write_mapping(value: Mapping[str, Any], indent: int, *, is_sorted: bool = True) -> Iterator[str]:
    """The lines of a mapping, keys sorted or as they come."""
    margin = " " * indent
    for key in sorted(value) if is_sorted else value:
        name = write_key(key)
        if len(name) > LONGEST_KEY:
            yield f"{margin}? {name}"
            name = ""
        first, *rest = _write_value(value[key], indent, is_sorted)
        yield f"{margin}{name}:{first}"
        yield from rest


def write_key(key: str) -> str:
    """A key, on one line."""
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS else quote(key)


def quote(text: str) -> str:
    """A string in double quotes, on one line."""
    return f'"{"".join(map(_escape, text))}"' if _HIDDEN.search(text) or '"' in text or "\\" in text else f'"{text}"'


def reveal(text: str) -> str:
    """The text on one line, with escapes for what nobody sees."""
    return _HIDDEN.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    if not _HIDDEN.match(character):
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _write_value(value: Any, indent: int, is_sorted: bool) -> list[str]:
    """What follows the colon of a key that stands at `indent`, and the lines below it."""
    if isinstance(value, Mapping):
        return ["", *write_mapping(value, indent + 2, is_sorted=is_sorted)] if value else [" {}"]
    if isinstance(value, list):
        return _write_list(value, indent, is_sorted)
    if isinstance(value, str) and not isinstance(value, Tagged):
        return _write_text(value, indent + 2)
    return [f" {_write_scalar(value)}"]


def _write_list(items: list[Any], indent: int, is_sorted: bool) -> list[str]:
    if not any(isinstance(item, (Mapping, list)) for item in items):
        flow = f" [{', '.join(map(_write_scalar, items))}]"
        if len(flow) + indent <= WIDTH:
            return [flow]
    margin = " " * (indent + 2)
    lines = [""]
    for item in items:
        if isinstance(item, Mapping) and item:
            first, *rest = write_mapping(item, indent + 4, is_sorted=is_sorted)
            lines += [f"{margin}- {first.lstrip(' ')}", *rest]
        else:
            first, *rest = _write_value(item, indent + 2, is_sorted)
            lines += [f"{margin}-{first}", *rest]
    return lines


def _write_scalar(value: Any) -> str:
    """A value on one line, such as may stand in `[a, b]`."""
    if isinstance(value, Tagged):
        return value
    if isinstance(value, str):
        return write_key(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        mantissa, exponent, power = repr(value).partition("e")
        return f"{mantissa}{'' if '.' in mantissa else '.0'}{exponent}{power}"
    return str(value)


def _write_text(text: str, indent: int) -> list[str]:
    """A string behind a key: plain, quoted, folded by sentence (`>-`), or line by line (`|`)."""
    margin = " " * indent
    if "\n" in text:
        return _write_lines(text, margin)
    if _HIDDEN.search(text):
        return [f" {quote(text)}"]
    sentences = _SENTENCE_END.split(text) if len(text) > WIDTH and text.strip() == text else [text]
    if len(sentences) > 1:
        return [" >-", *(f"{margin}{sentence}" for sentence in sentences)]
    is_plain = _PLAIN_TEXT.fullmatch(text) and text.lower() not in _WORDS
    return [f" {text if is_plain else quote(text)}"]


def _write_lines(text: str, margin: str) -> list[str]:
    """Text of several lines. Blanks at the end of a line, which tools like to strip, are kept by quotes."""
    lines = text.split("\n")
    body = lines[:-1] if lines[-1] == "" else lines
    is_clean = body and body[0] and body[-1] and not body[0].startswith(" ")
    if is_clean and not any(_HIDDEN.search(line) or line.endswith(" ") for line in body):
        return [" |" if lines[-1] == "" else " |-", *(f"{margin}{line}" if line else "" for line in body)]
    quoted = [quote(line)[1:-1] for line in lines]
    shown = [f"\\{line}" if line.startswith(" ") else line for line in quoted]
    kept = [f"{margin}{line}\\n\\" for line in shown[:-1]]
    return [' "\\', *kept, f'{margin}{shown[-1]}"']
