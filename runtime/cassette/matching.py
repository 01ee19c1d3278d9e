"""Whether a request is the one that was recorded, but for what is to be ignored and what was masked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runtime.cassette.contents import CassetteError, Exchange
from runtime.masking import MASK

IGNORED = "(ignored)"

Pointer = tuple[str, ...]


def read_pointers(texts: Iterable[Any]) -> list[Pointer]:
    """JSON pointers (RFC 6901) as steps, where `*` stands for any one; raises CassetteError."""
    pointers = []
    for text in texts:
        fault = find_pointer_fault(text)
        if fault is not None:
            raise CassetteError(fault)
        pointers.append(tuple(step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]))
    return pointers


def find_pointer_fault(text: Any) -> str | None:
    """Why a rule of `ignore` is none."""
    if isinstance(text, str) and text.startswith("/"):
        return None
    return f'a rule of `ignore` is a JSON pointer such as "/messages/0/content", not "{text}"'


def blank_out(value: Any, pointers: Sequence[Pointer]) -> Any:
    """The value with what the pointers point at replaced; the value itself where there is nothing to replace."""
    for pointer in pointers:
        value = _blank_out(value, pointer)
    return value


def _blank_out(value: Any, pointer: Pointer) -> Any:
    if not pointer:
        return IGNORED
    step, rest = pointer[0], pointer[1:]
    if isinstance(value, Mapping):
        keys = value.keys() if step == "*" else value.keys() & {step}
        return {key: _blank_out(item, rest) if key in keys else item for key, item in value.items()}
    if isinstance(value, list):
        return [_blank_out(item, rest) if step in ("*", str(place)) else item for place, item in enumerate(value)]
    return value


class Request:
    """A request to be matched; `value` is spelled and masked."""

    def __init__(self, value: dict[str, Any], pointers: Sequence[Pointer]) -> None:
        self.value = blank_out(value, pointers)
        self._pointers = pointers

    def fits(self, exchange: Exchange) -> bool:
        recorded = self.recorded(exchange)
        return bool(recorded == self.value) or (exchange.is_masked and _fits(recorded, self.value))

    def recorded(self, exchange: Exchange) -> Any:
        """What was recorded, as it is compared."""
        return blank_out(exchange.request, self._pointers)


def _fits(recorded: Any, value: Any) -> bool:
    """Equality in which `***` of the recording stands for any text."""
    if isinstance(recorded, str):
        if MASK not in recorded or not isinstance(value, str):
            return bool(recorded == value)
        return _fits_text(recorded.split(MASK), value)
    if isinstance(recorded, Mapping):
        if not isinstance(value, Mapping) or recorded.keys() != value.keys():
            return False
        return all(_fits(item, value[key]) for key, item in recorded.items())
    if isinstance(recorded, list):
        return isinstance(value, list) and len(recorded) == len(value) and all(map(_fits, recorded, value))
    return bool(recorded == value)


def _fits_text(parts: Sequence[str], text: str) -> bool:
    """Whether a text is these parts with anything between them; takes as long as the text is."""
    first, *middle, last = parts
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
