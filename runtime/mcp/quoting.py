"""Text of foreign origin, made fit for a message or a log line: one line, no controls, a sane length."""

import re
from collections.abc import Callable
from typing import Any

# C0, DEL, C1; zero-width and bidirectional controls; line and paragraph separators; Unicode tags; lone surrogates.
# Compiled with the first text that needs them: most servers say nothing that has to be looked at.
CONTROLS = (
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
HIDDEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
LINE_LIMIT = 300


def remove_hidden(text: str) -> str:
    """The text without what its reader cannot see; newlines, tabs and the joiners of scripts and emoji stay."""
    return text if text.isascii() and text.isprintable() else re.sub(HIDDEN, "", text.replace("\r\n", "\n"))


def remove_controls(text: str) -> str:
    """The text without controls of any kind, line ends included."""
    return re.sub(CONTROLS, "", text)


def mask_value(value: Any, mask: Callable[[str], str]) -> Any:
    """A JSON value with every text in it masked, keys included."""
    if type(value) is str:
        return mask(value)
    if type(value) is list:
        return [mask_value(member, mask) for member in value]
    if type(value) is dict:
        return {mask(key): mask_value(member, mask) for key, member in value.items()}
    return value


def quote_line(text: str, limit: int = LINE_LIMIT) -> str:
    """The text on one line: each run of controls becomes a space, what is over the limit is cut."""
    line = " ".join(re.sub(CONTROLS, " ", text[: limit * 4]).split())
    return line if len(line) <= limit else line[:limit] + "…"


def quote_lines(text: str, lines: int, limit: int = LINE_LIMIT) -> list[str]:
    """The last lines of a text, each fit to be printed; empty ones are left out."""
    kept: list[str] = []
    for raw in reversed(text.splitlines()):
        if len(kept) == lines:
            break
        if line := quote_line(raw, limit):
            kept.append(line)
    return kept[::-1]
