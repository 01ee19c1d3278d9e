"""Reading another program's file: JSON, JSON with comments, or YAML, with the place of every value."""

import re
from collections.abc import Iterator
from typing import Any

from runtime.errors import UsageError
from runtime.manifest import Mapping, Sequence, Source, load

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_UNREADABLE = frozenset(("YAML_SYNTAX", "YAML_TOO_LARGE"))


def read_foreign(source: Source) -> Mapping:
    """The mapping at the root of the file; UsageError with its place where it cannot be read, or is no mapping."""
    loaded = load(_plain(source))
    for found in loaded.diagnostics:
        if found.code in _UNREADABLE:
            raise UsageError(f'cannot read "{source.name}": line {found.line}, column {found.column}: {found.message}')
    if len(loaded.documents) != 1:
        raise UsageError(f'"{source.name}" has to hold one mapping')
    return loaded.documents[0].body


def _plain(source: Source) -> Source:
    """The same lines as YAML reads them: JSON without the comments and commas that editors allow in it."""
    if not source.text.lstrip().startswith(("{", "//", "/*")):
        return source
    text = _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else _blank(found[0]), source.text)
    text = _TRAILING_COMMA.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    text = _PAIR.sub(_character, text)
    return Source(source.name, text.encode("utf-8", "surrogateescape"), source.folder)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def _character(pair: re.Match[str]) -> str:
    """A character that JSON escapes in two halves, which YAML does not know."""
    return bytes.fromhex(pair[1] + pair[2]).decode("utf-16-be")


def text_at(mapping: Mapping, key: str) -> str | None:
    """The text of a key; a number or a truth value as JSON writes it; None for anything else."""
    value = mapping.get(key)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    return None


def whole_at(mapping: Mapping, key: str) -> int:
    """The positive whole number of a key; 0 for anything else."""
    value = mapping.get(key)
    return value if type(value) is int and 0 < value < 1 << 53 else 0


def mapping_at(mapping: Mapping, key: str) -> Mapping:
    """The mapping of a key; an empty one where something else stands there, or nothing."""
    value = mapping.get(key)
    return value if type(value) is Mapping else _empty(mapping.start)


def mappings_at(mapping: Mapping, key: str) -> Iterator[Mapping]:
    """The mappings in the list of a key."""
    for item, _ in elements_at(mapping, key):
        if type(item) is Mapping:
            yield item


def plain_value(value: Any) -> Any:
    """A value as JSON has it, without places."""
    if type(value) is Mapping:
        return {key: plain_value(item) for key, item in value.items()}
    if type(value) is Sequence:
        return [plain_value(item) for item in value]
    return str(value) if isinstance(value, str) else value


def elements_at(mapping: Mapping, key: str) -> Iterator[tuple[Any, int]]:
    """The elements of the list of a key, each with its place."""
    value = mapping.get(key)
    if type(value) is Sequence:
        yield from zip(value, value.places, strict=True)


def place_of(mapping: Mapping, key: str) -> int:
    """The place of a key; that of the mapping where it has no such key."""
    return mapping.places[key][0] if key in mapping.places else mapping.start


def _empty(place: int) -> Mapping:
    made = Mapping()
    made.start, made.places = place, {}
    return made
