"""The API's own Schema message, `parameters`: one type for each schema, no references, no maps, no constants.

What it cannot say is left open and put into words. References are written out, as many levels of them as there is room
for.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from runtime.ai.formats.encoding import encode, write_json
from runtime.ai.formats.format import InexpressibleError, Schema
from runtime.ai.formats.place import Place
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.equality import distinct
from runtime.ai.formats.schema.keywords import children, types_of, words
from runtime.ai.formats.schema.merging import both, either
from runtime.ai.formats.schema.patterns import is_portable
from runtime.ai.formats.schema.phrases import add, describe, list_values, say

_NOTES = ("title", "description", "default")
_BY_TYPE = {
    "string": words("enum format minLength maxLength pattern"),
    "integer": words("enum format minimum maximum"),
    "number": words("enum format minimum maximum"),
    "boolean": words(""),
    "null": words(""),
    "array": words("minItems maxItems"),
    "object": words("required minProperties maxProperties propertyOrdering"),
}
_FORMATS = {
    "string": words("date-time enum"),
    "integer": words("int32 int64"),
    "number": words("float double"),
}
_ABOUT = {
    "object": words("properties required additionalProperties minProperties maxProperties"),
    "array": words("items prefixItems minItems maxItems"),
}
_PREFIX = "#/$defs/"
_DEEPEST = 40
_DEEPEST_ANY = 2
_MORE_ROOM = 15_000
_MOST_TIMES = 4
_SIZE_OF_PART = 25
_SIZE_OF_VALUE = 10
_LONGEST_HIDDEN = 2000
_LEVELS = (_DEEPEST, 8, 5, 4, 3, 2, 1, 0)


def write(schema: Schema, report: Report) -> tuple[Schema, list[str]]:
    """An object schema in the keywords of `parametersJsonSchema`, as the Schema message; and what to say besides.

    Raises `InexpressibleError` where that would be too large even with no reference written out.
    """
    room = _MORE_ROOM + _MOST_TIMES * len(encode(schema))
    definitions = schema.get("$defs", {})
    alone = {word: value for word, value in schema.items() if word != "$defs"}
    for levels in _LEVELS:
        own = Report()
        writing = _Writing(definitions, own, room, levels)
        with suppress(_OutOfRoomError):
            message = writing.write(alone, None)
            report.include(None, own)
            return message, _say_hidden(part for name, part in definitions.items() if name not in writing.written)
    raise InexpressibleError("it is too large for `parameters`, where each part has to be written out")


class _OutOfRoomError(Exception):
    """The message gets too large."""


class _Writing:
    def __init__(self, definitions: dict[str, Any], report: Report, room: int, levels: int) -> None:
        self._definitions = definitions
        self._report = report
        self._inside: tuple[str, ...] = ()
        self._levels = levels
        self.written: set[str] = set()
        """The definitions that stand in the message somewhere."""
        self._depth = 0
        self._room = room

    def write(self, part: Schema, place: Place) -> Schema:
        """Any schema as a message."""
        values = len(part.get("enum", ())) + len(part.get("required", ()))
        self._room -= _SIZE_OF_PART + _SIZE_OF_VALUE * values + len(part.get("description", ""))
        if self._room < 0:
            raise _OutOfRoomError
        if self._depth > _DEEPEST:
            self._report(place, "weakened", "nested too deep; any object is taken")
            return {"type": "object"}
        self._depth += 1
        fresh = self._refer(part, place) if "$ref" in part else self._choose(part, place)
        self._depth -= 1
        return fresh

    def _refer(self, part: Schema, place: Place) -> Schema:
        name = part["$ref"][len(_PREFIX) :]
        notes = {word: part[word] for word in _NOTES if word in part}
        definition = self._definitions[name]
        if name in self._inside or len(self._inside) >= self._levels:
            why = "has no recursion" if name in self._inside else "has no references, and no room for more of them"
            self._report(place, "weakened", f"`parameters` {why}; any such value is taken from here on")
            types = types_of(definition)
            return self.write({**notes, **({"type": list(types)} if types else {})}, place)
        self.written.add(name)
        self._inside = (*self._inside, name)
        if "description" in notes:  # the definition's own stands nowhere else
            notes["description"] = add(notes["description"], definition.get("description", ""))
        fresh = self.write({**definition, **notes}, place)
        self._inside = self._inside[:-1]
        return fresh

    def _choose(self, part: Schema, place: Place) -> Schema:
        if "anyOf" in part:
            return self._any_of(part, place)
        types = types_of(part) or _guess_types(part)
        if not types:
            return {**_any_value(_DEEPEST_ANY), **{word: part[word] for word in _NOTES if word in part}}
        if len(types) == 1:
            return self._one(types[0], part, place)
        branches = [self._one(name, _without_notes(part), place) for name in types if name != "null"]
        return _unite(branches, part, "null" in types)

    def _any_of(self, part: Schema, place: Place) -> Schema:
        around = {word: value for word, value in _without_notes(part).items() if word != "anyOf"}
        branches = []
        notes = []
        is_nullable = False
        for index, branch in enumerate(part["anyOf"]):
            inner = ((place, "anyOf"), str(index))
            fresh = self.write(self._merge(branch, around, inner) if around else branch, inner)
            is_nullable = is_nullable or fresh.get("nullable", False) or fresh.get("type") == "null"
            plain = {word: value for word, value in fresh.items() if word != "nullable"}
            if plain.keys() == {"anyOf"}:
                branches += plain["anyOf"]
            elif plain.get("type") != "null":
                branches.append(plain)
            elif "description" in plain:
                notes.append(plain["description"])
        return describe(_unite(branches, part, is_nullable), *notes)

    def _merge(self, branch: Schema, around: Schema, place: Place) -> Schema:
        if "$ref" in branch:
            name = branch["$ref"][len(_PREFIX) :]
            if name in self._inside or len(self._inside) >= self._levels:
                return branch
            self.written.add(name)
            branch = {**self._definitions[name], **{word: branch[word] for word in _NOTES if word in branch}}

        def lose(word: str, value: Any) -> None:
            self._report((place, word), "weakened", f'"{word}" cannot be said beside "anyOf"')

        merged: Schema = both(branch, around, lose)
        return merged

    def _one(self, name: str, part: Schema, place: Place) -> Schema:
        fresh: Schema = {"type": name}
        said: list[str] = []
        for word, value in part.items():
            if word in _NOTES:
                fresh[word] = value
            elif word in _BY_TYPE[name]:
                self._keep(name, word, value, fresh, said, place)
        if "prefixItems" in part and name == "array":
            self._report((place, "prefixItems"), "weakened", "`parameters` has one schema for all members of an array")
        if name == "array":
            fresh["items"] = self.write(_members(part), (place, "items"))
        if name == "object":
            self._fill(part, fresh, said, place)
        return describe(fresh, *said)

    def _keep(self, name: str, word: str, value: Any, fresh: Schema, said: list[str], place: Place) -> None:
        if word == "format" and value not in _FORMATS[name]:
            said.append(say(word, value))
            self._report((place, word), "dropped", f'`parameters` has no format "{value}" here; only stated in words')
        elif word == "pattern" and not is_portable(value):
            said.append(say(word, value))
            self._report((place, word), "weakened", "the regular expression is only stated in words")
        elif word == "enum" and name != "string":
            said.append(list_values(value))
            self._report((place, word), "weakened", "`parameters` enumerates texts alone; only stated in words")
        else:
            fresh[word] = value

    def _fill(self, part: Schema, fresh: Schema, said: list[str], place: Place) -> None:
        if "properties" in part:
            inner = (place, "properties")
            fresh["properties"] = {key: self.write(schema, (inner, key)) for key, schema in part["properties"].items()}
        rest = part.get("additionalProperties", True)
        if rest is not True and rest != {}:
            said.append("No other keys." if rest is False else f"Other keys hold {write_json(self._shown(rest))}.")
            self._report((place, "additionalProperties"), "weakened", "`parameters` has no maps; only stated in words")

    def _shown(self, part: Schema) -> Schema:
        shown: Schema = self._definitions[part["$ref"][len(_PREFIX) :]] if "$ref" in part else part
        return shown


def _say_hidden(definitions: Iterable[Schema]) -> list[str]:
    """The descriptions in definitions that are written out nowhere."""
    texts: dict[str, None] = {}
    waiting: list[Any] = list(definitions)
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            texts.update(dict.fromkeys([part["description"]] if "description" in part else []))
            waiting += [inner for inner, _ in children(part)]
    return [f"Deeper inside than shown: {'; '.join(texts)[:_LONGEST_HIDDEN]}"] if texts else []


def _without_notes(part: Schema) -> Schema:
    return {word: value for word, value in part.items() if word not in _NOTES}


def _guess_types(part: Schema) -> tuple[str, ...]:
    """The type that a schema without one is about, if its keywords are about one."""
    return tuple(name for name, about in _ABOUT.items() if not about.isdisjoint(part))


def _members(part: Schema) -> Schema:
    """One schema for all members of an array; a tuple's places are given up."""
    tuple_of, rest = part.get("prefixItems", []), part.get("items", {})
    if not tuple_of:
        return rest if isinstance(rest, dict) else {}
    members = tuple_of if part.get("maxItems", len(tuple_of) + 1) <= len(tuple_of) else [*tuple_of, rest]
    if {} not in members:
        united: Schema = either(members)
        return united
    texts = [member["description"] for member in members if "description" in member]
    return {"description": "\n".join(dict.fromkeys(texts))} if texts else {}


def _unite(branches: list[Schema], part: Schema, is_nullable: bool) -> Schema:
    possible = distinct(branches)
    notes = {word: part[word] for word in _NOTES if word in part}
    if not possible:
        return {"type": "null", **notes}
    nullable = {"nullable": True} if is_nullable else {}
    if len(possible) > 1:
        return {"anyOf": possible, **notes, **nullable}
    return describe({**possible[0], **notes, **nullable}, possible[0].get("description", ""))


def _any_value(depth: int) -> Schema:
    """Any JSON value, arrays in arrays down to a depth: the message has no word for it."""
    branches: list[Schema] = [{"type": name} for name in ("string", "number", "boolean", "object")]
    if depth:
        branches.append({"type": "array", "items": _any_value(depth - 1)})
    return {"anyOf": branches, "nullable": True}
