"""Plain scalars by the core schema of YAML 1.2 (its section 10.3.2): no octal 0777, no `yes`, no 1:30."""

import re

_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{sign + text: float(sign + "inf") for sign in ("", "+", "-") for text in (".inf", ".Inf", ".INF")},
}
_NUMBER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+|[-+]?[0-9]+|([-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)")
_STARTS = frozenset("0123456789+-.~nNtTfF")

Scalar = str | int | float | bool | None

MOST_DIGITS = 4000
"""A longer number stays text: Python reads no integer of more than 4300 digits, and nobody means one."""


def resolve(text: str) -> Scalar:
    """The value of a plain scalar."""
    if not text:
        return None
    if text[0] not in _STARTS:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    found = _NUMBER.fullmatch(text)
    if found is None or len(text) > MOST_DIGITS:
        return text
    if found[1] is not None:
        return float(text)
    return int(text, 0) if text[1:2] in ("o", "x") else int(text)


def resolve_as(tag: str, text: str) -> Scalar:
    """The value of a scalar under `!!str`, `!!int`, `!!float`, `!!bool` or `!!null`; ValueError if it has none."""
    if tag == "str":
        return text
    value = resolve(text)
    fits = {
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, (int, float)) and not isinstance(value, bool),
        "bool": isinstance(value, bool),
        "null": value is None,
    }
    if not fits[tag]:
        raise ValueError(f'"{text}" is no {tag}')
    return float(value) if tag == "float" and value is not None else value
