"""Most published schemas need nothing done; this tells which, in a tenth of the time that looking closely takes.

The types below are matched by `msgspec` in C. What they take, `repair` and `flatten` would leave as it is, and so would
the rules for OpenAI and Anthropic; a test holds the two to the same verdict. All else is looked at closely.
"""

import re
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert, field

from runtime.ai.formats.encoding import encode
from runtime.ai.formats.format import Plain
from runtime.ai.formats.schema import loops
from runtime.ai.formats.schema.common import are_common
from runtime.ai.formats.schema.keywords import words
from runtime.ai.formats.schema.patterns import is_portable

_Name = Literal["string", "integer", "number", "boolean", "object", "array", "null"]
_Count = Annotated[int, Meta(ge=0)]
_Number = int | float
_Schemas = Annotated[list["_Plain"], Meta(min_length=1)]
_FREQUENT = words("type properties required additionalProperties $defs")
_AT_ROOT_ONLY_PLAIN = words("$ref anyOf oneOf allOf not enum const")
_MOST_OBJECTS = 100
_REFERENCE = b'"$ref":"'
_REFERRED = re.compile(rb'"\$ref":"#/\$defs/([A-Za-z0-9_.-]{1,64})"')


class _Plain(Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    type: _Name | Annotated[list[_Name], Meta(min_length=1)] | UnsetType = UNSET
    description: str = ""
    title: str = ""
    ref: Annotated[str, Meta(pattern=r"^#/\$defs/[A-Za-z0-9_.-]{1,64}$")] = field(default="", name="$ref")
    default: Any = None
    examples: list[Any] = []
    format: str = ""
    deprecated: bool = False
    read_only: bool = False
    write_only: bool = False
    enum: Annotated[list[Any], Meta(min_length=1)] = []
    const: Any = None
    properties: dict[str, "_Plain"] | UnsetType = UNSET
    required: list[str] = []
    additional_properties: "bool | _Plain" = True
    pattern_properties: dict[str, "_Plain"] = {}
    property_names: "_Plain | None" = None
    min_properties: _Count = 0
    max_properties: _Count = 0
    items: "_Plain | UnsetType" = UNSET
    min_items: _Count = 0
    max_items: _Count = 0
    unique_items: bool = False
    pattern: str = ""
    min_length: _Count = 0
    max_length: _Count = 0
    minimum: _Number = 0
    maximum: _Number = 0
    exclusive_minimum: _Number = 0
    exclusive_maximum: _Number = 0
    multiple_of: Annotated[int, Meta(gt=0)] | Annotated[float, Meta(gt=0)] = 1
    any_of: _Schemas = []
    one_of: _Schemas = []
    all_of: _Schemas = []
    not_: "_Plain | None" = field(default=None, name="not")

    def __post_init__(self) -> None:
        if isinstance(self.type, list):
            is_array = "array" in self.type
            if len(set(self.type)) < len(self.type):
                raise ValueError
        else:
            is_array = self.type == "array"
        if is_array and self.items is UNSET:
            raise ValueError
        if self.required and len(set(self.required)) < len(self.required):
            raise ValueError
        if self.pattern and not is_portable(self.pattern):
            raise ValueError
        if self.pattern_properties and not all(map(is_portable, self.pattern_properties)):
            raise ValueError


def is_plain_part(schema: Any, known: Plain) -> bool:
    """Whether an argument or a definition needs no change, as long as its references lead somewhere."""
    return _look(schema, encode(schema), known) is not None


def find_plain(schema: dict[str, Any], known: Plain) -> bytes:
    """The JSON text of the arguments, if the schema is an object that every step would leave as it is; else nothing.

    A missing `required` is no matter. `known` remembers parts that need no change.
    """
    if schema.get("type") != "object" or not _fits_around(schema):
        return b""
    arguments = schema["properties"]
    text = encode({"properties": arguments})  # a part of its own, so it may be remembered among the others
    if text not in known:
        found = [False] if are_common(arguments) else [_look(part, encode(part), known) for part in arguments.values()]
        if None in found:
            return b""
        known[text] = True in found
    if known[text] or "$defs" in schema:
        definitions = schema.get("$defs", {})
        if not isinstance(definitions, dict) or not all(is_plain_part(part, known) for part in definitions.values()):
            return b""
        if not _is_closed(text, definitions) or loops.has_loop(definitions):
            return b""
    return text


def _look(part: Any, text: bytes, known: Plain) -> bool | None:
    """Whether the part has a reference; None if it needs a closer look."""
    if text not in known:
        if text.count(b"{") > _MOST_OBJECTS:  # it may be nested deeper than `repair` lets pass
            return None
        try:
            convert(part, _Plain)
        except (ValidationError, RecursionError):
            return None
        known[text] = _REFERENCE in text
    return known[text]


def _is_closed(text: bytes, definitions: dict[str, Any]) -> bool:
    """Whether the references lead to all definitions and to nothing else; one in a default counts as well."""
    reached: set[str] = set()
    waiting = [text]
    while waiting:
        for found in _REFERRED.findall(waiting.pop()):
            name = found.decode()
            if name not in definitions:
                return False
            if name not in reached:
                reached.add(name)
                waiting.append(encode(definitions[name]))
    return len(reached) == len(definitions)


def _fits_around(schema: dict[str, Any]) -> bool:
    arguments, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(arguments, dict) or not isinstance(required, list):
        return False
    names = set(required) if all(isinstance(name, str) for name in required) else None
    if names is None or len(names) < len(required) or not names <= arguments.keys():
        return False
    if schema.keys() <= _FREQUENT:
        return isinstance(schema.get("additionalProperties", False), bool)
    around = {word: value for word, value in schema.items() if word not in ("properties", "$defs")}
    if not _AT_ROOT_ONLY_PLAIN.isdisjoint(around):
        return False
    try:
        convert(around, _Plain)
    except (ValidationError, RecursionError):
        return False
    return True
