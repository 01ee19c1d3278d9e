"""What goes into a store: JSON values without secrets, and errors as such."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from runtime import errors
from runtime.errors import Error

Mask = Callable[[str], str]


def make_plain(value: Any, mask: Mask = str) -> Any:
    """A value as JSON has it, with every text masked, keys too, and made such that UTF-8 can hold it."""
    return _mask(value, mask)[0]


def mask_plain(value: Any, mask: Mask) -> Any:
    """The same; a mapping that had a secret in it says `isMasked: true`."""
    masked, has_lost = _mask(value, mask)
    return {**masked, "isMasked": True} if has_lost and isinstance(masked, dict) else masked


def _mask(value: Any, mask: Mask) -> tuple[Any, bool]:
    """The plain value, and whether a text of it was masked: the one walk through what may be a long record."""
    has_lost = False

    def spell(text: str) -> str:
        nonlocal has_lost
        masked = mask(text)
        if masked is not text and masked != text:
            has_lost = True
        return masked if masked.isascii() else _clean(masked)

    def walk(item: Any) -> Any:
        kind = type(item)
        if kind is str:
            return spell(item)
        if kind is dict:
            return {spell(str(key)): walk(member) for key, member in item.items()}
        return [walk(member) for member in item] if kind is list or kind is tuple else item

    return walk(msgspec.to_builtins(value)), has_lost


def _clean(text: str) -> str:
    """The text without halves of surrogate pairs, which come from odd JSON and which no database takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def spell_error(error: Error) -> dict[str, Any]:
    """An error as a JSON value."""
    spelled = {
        "type": _find_type(error).__name__,
        "code": error.code,
        "message": error.message,
        "resource": error.resource,
        "hint": error.hint,
        "details": error.details,
    }
    return {name: value for name, value in spelled.items() if value}


def read_error(spelled: Mapping[str, Any]) -> Error:
    """The error that `spell_error` spelled; of a type that is not ours it is an `Error`."""
    found = getattr(errors, str(spelled.get("type")), None)
    made = found if isinstance(found, type) and issubclass(found, Error) else Error
    if made is errors.ManifestError:
        made = Error
    return made(
        spelled.get("message", ""),
        code=spelled.get("code"),
        resource=spelled.get("resource"),
        hint=spelled.get("hint"),
        details=spelled.get("details"),
    )


def _find_type(error: Error) -> type[Error]:
    """The nearest type of `runtime.errors` that an error is of."""
    return next(each for each in type(error).__mro__ if each.__module__ == errors.__name__)
