"""Text of foreign origin on a terminal: nothing in it moves the cursor, changes a colour or hides from its reader."""

from typing import Any

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A, 0x0D)}
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_PROSE = {**_CONTROLS, 0x0D: None, **{code: f"\\u{code:04x}" for code in _DIRECTIONS}}
_SELECTORS = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))


def disarm(text: str) -> str:
    """Prose: escapes in place of control characters and of those that turn the direction of reading."""
    return text if text.isascii() and text.isprintable() else text.translate(_PROSE)


def reveal(text: str) -> str:
    """Every character that is not visible as an escape, line ends alone excepted: what somebody has to judge."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_visible(char) else _escape(char) for char in text)


def _is_visible(char: str) -> bool:
    return char == "\n" or (char.isprintable() and ord(char) not in _SELECTORS)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def reveal_json(value: Any) -> str:
    """A JSON value over several lines, with every character visible."""
    import msgspec

    return reveal(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
