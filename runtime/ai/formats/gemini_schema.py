"""An object schema in the keywords that Gemini's JSON Schema fields read; what it does not read is said in words."""

import math
from collections.abc import Mapping
from operator import is_
from typing import Any

from runtime.ai.formats.encoding import encode
from runtime.ai.formats.format import Schema
from runtime.ai.formats.gemini_values import restrict
from runtime.ai.formats.place import Place
from runtime.ai.formats.report import Effect, Report
from runtime.ai.formats.schema import loops
from runtime.ai.formats.schema.combining import NOTES, Combining
from runtime.ai.formats.schema.equality import identity
from runtime.ai.formats.schema.keywords import types_of, words
from runtime.ai.formats.schema.merging import either
from runtime.ai.formats.schema.phrases import add, describe, list_values, say, say_condition, state, write_out
from runtime.ai.formats.schema.values import NOTES_ONLY

_LEAF = words("type format description title default minimum maximum minItems maxItems")
_STATED = ("minLength", "maxLength", "pattern", "multipleOf")
_SIMPLE = _LEAF.union(_STATED)
_KEPT = _LEAF | words("required propertyOrdering")
_RESTATED = words(
    "const enum oneOf exclusiveMinimum exclusiveMaximum patternProperties unevaluatedItems unevaluatedProperties"
)
_JUDGING = words("anyOf oneOf if dependentSchemas patternProperties additionalProperties")
_REFERENCE = NOTES | {"$ref"}
_PREFIX = "#/$defs/"
_DEEPEST = 100
_FREQUENT = words("type properties required additionalProperties description title $defs")

Known = dict[tuple[bytes, str], tuple[Any, Report]]
"""Parts by their JSON text and what they are for, with what they become and the report of it."""


class Rewriting:
    """Rewrites the schema of one tool.

    `known` remembers by their JSON texts what arguments become, since the tools of a server share many; `read` names
    keywords that are read besides.
    """

    def __init__(self, definitions: dict[str, Any], report: Report, known: Known, read: frozenset[str]) -> None:
        self._definitions = definitions
        self._report = report
        self._known = known
        self._read = read
        self._stated = [word for word in _STATED if word not in read]
        self._hidden = definitions if read else {}  # what the model will not see, as `parameters` has no definitions
        self._combining = Combining(definitions, report, self._hidden)
        self._depth = 0
        self._is_definition = False

    def run(self, flat: Schema, text: bytes) -> Schema:
        """The object schema, the same object where nothing changes; `text` is the JSON text of plain arguments."""
        if text and flat.keys() <= _FREQUENT and isinstance(flat.get("additionalProperties", True), bool):
            arguments = self._remember("all", text, flat["properties"], (None, "properties"))
            fresh = flat if arguments is flat["properties"] else {**flat, "properties": arguments}
        else:
            fresh = self.change({word: value for word, value in flat.items() if word != "$defs"}, None)
        if "$defs" not in flat:
            return fresh
        self._is_definition = True
        changed = self._change_named(self._definitions, (None, "$defs"))
        definitions = {name: {} if part is False else part for name, part in changed.items()}
        return loops.end_required({**fresh, "$defs": definitions}, self._report)

    def _change_named(self, parts: dict[str, Any], place: Place) -> dict[str, Any]:
        """Arguments or definitions; what takes long is changed once for all tools that have it."""
        fresh: dict[str, Any] = {}
        shortened = []
        for key, part in parts.items():
            if _is_simple(part):
                fresh[key] = self._shorten(part)
                if fresh[key] is not part:
                    shortened.append(key)
            else:
                purpose = "$defs" if self._is_definition else "one"
                fresh[key] = self._remember(purpose, encode(part), part, (place, key))
        if shortened:
            self._report.defer(lambda report: self._tell({(place, key): parts[key] for key in shortened}, report))
        return parts if all(map(is_, fresh.values(), parts.values())) else fresh

    def _remember(self, purpose: str, text: bytes, part: Any, place: Place) -> Any:
        if b'"$ref":' in text:  # what it refers to depends on the tool
            return self._change_named(part, place) if purpose == "all" else self.change(part, place)
        kept = (text, purpose)
        if kept not in self._known:
            report = Report()
            alone = Rewriting({}, report, self._known, self._read)
            alone._is_definition = self._is_definition
            fresh = alone._change_named(part, None) if purpose == "all" else alone.change(part, None)
            self._known[kept] = fresh, report
        fresh, report = self._known[kept]
        self._report.include(place, report)
        return fresh

    def _shorten(self, part: Schema) -> Schema:
        """A part of plain values, with those that Gemini does not read in words; the same object where it reads all."""
        fresh = part
        if not part.keys().isdisjoint(self._stated):
            fresh = part.copy()
            text = part.get("description", "")
            for word in self._stated:
                if word in part:
                    text = add(text, say(word, fresh.pop(word)))
            if text:
                fresh["description"] = text
        return _without_title(fresh) if self._is_definition else fresh

    def _tell(self, shortened: Mapping[Place, Schema], report: Report) -> None:
        """What `_shorten` did to parts."""
        for place, part in shortened.items():
            for word in self._stated:
                if word in part:
                    report((place, word), "weakened", f'Gemini does not read "{word}"; only stated in words')

    def change(self, part: Any, place: Place) -> Any:
        """The schema as Gemini reads it; the same object where nothing changes, False where nothing fits."""
        if not isinstance(part, dict):
            return {} if part else False
        if _is_simple(part):
            self._tell({place: part}, self._report)
            return self._shorten(part)
        if self._depth > _DEEPEST:
            self._report(place, "weakened", "nested too deep; any value is taken")
            return {}
        said: list[str] = []
        outside = self._combining.unfolded
        if "allOf" in part or ("$ref" in part and not part.keys() <= _REFERENCE):
            part = self._combining.combine(part, place, said)
            if not isinstance(part, dict):
                return part
            self._report(place, "rewritten", 'what stood in "allOf" or beside a reference is merged')
        if "$ref" in part:
            return _refer(part, said)
        self._depth += 1
        fresh = self._keywords(part, place, said)
        self._depth -= 1
        self._combining.unfolded = outside
        return describe(fresh, *said) if said else fresh

    def _keywords(self, part: Schema, place: Place, said: list[str]) -> Schema:
        fresh: Schema = {}
        for word, value in part.items():
            if word in _KEPT or word in self._read:
                fresh[word] = value
            elif word == "properties":
                fresh[word] = self._properties(part, place)
            elif word == "items":
                fresh[word] = self.change(value, (place, word))
            elif word == "additionalProperties":
                fresh[word] = value if isinstance(value, bool) else self.change(value, (place, word))
            elif word in ("anyOf", "prefixItems"):
                fresh[word] = self._list(value, (place, word))
            elif word not in _RESTATED:
                self._drop(word, part, place, said)
        if not _RESTATED.isdisjoint(part):
            self._restate(part, fresh, place, said)
        _complete(part, fresh)
        return _without_title(fresh) if self._is_definition else fresh

    def _properties(self, part: Schema, place: Place) -> dict[str, Any]:
        inner = (place, "properties")
        fresh = {key: self.change(schema, (inner, key)) for key, schema in part["properties"].items()}
        forbidden = [key for key, schema in fresh.items() if schema is False]
        for key in forbidden:
            del fresh[key]
            if part.get("additionalProperties") is not False:
                self._report((inner, key), "weakened", "must not be sent, so it is not shown")
        return fresh

    def _list(self, schemas: list[Any], place: Place) -> list[Any]:
        return [self.change(schema, (place, str(index))) for index, schema in enumerate(schemas)]

    def _drop(self, word: str, part: Schema, place: Place, said: list[str]) -> None:
        if word in NOTES or word in ("then", "else"):
            if word == "deprecated":
                said.append(say(word, part[word]))
            return
        shown = write_out({w: part[w] for w in (word, "then", "else") if w in part}, self._hidden)
        sentence = say_condition(shown) if word == "if" else say(word, shown[word])
        if sentence:
            said.append(sentence)
            effect: Effect = "dropped" if word in NOTES_ONLY else "weakened"
            self._report((place, word), effect, f'Gemini does not read "{word}"; only stated in words')
        elif word not in ("if", "minContains", "maxContains"):
            self._report((place, word), "dropped", f'Gemini does not read "{word}"')

    def _restate(self, part: Schema, fresh: Schema, place: Place, said: list[str]) -> None:
        if "oneOf" in part:
            self._one_of(part, fresh, place, said)
        for word in ("enum", "const"):
            if word in part:
                self._constants(word, part, fresh, place, said)
        for word, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if word in part:
                self._bound(word, limit, part, fresh, place, said)
        if "patternProperties" in part:
            self._patterns(part, fresh, place, said)
        self._leftovers(part, fresh, place, said)

    def _leftovers(self, part: Schema, fresh: Schema, place: Place, said: list[str]) -> None:
        """`unevaluated*` in the words of `additionalProperties` and `items`, if nothing else judges."""
        if part.get("unevaluatedProperties") is False and _JUDGING.isdisjoint(part):
            fresh.setdefault("additionalProperties", False)
        elif "unevaluatedProperties" in part:
            self._drop("unevaluatedProperties", part, place, said)
        if part.get("unevaluatedItems") is False and "items" not in part and "prefixItems" in part:
            fresh["items"] = False
        elif "unevaluatedItems" in part:
            self._drop("unevaluatedItems", part, place, said)

    def _one_of(self, part: Schema, fresh: Schema, place: Place, said: list[str]) -> None:
        where = (place, "oneOf")
        if "anyOf" in part:
            self._report(where, "weakened", '"oneOf" beside "anyOf" is only stated in words')
            said.append(state("Must also fit one of", write_out(part["oneOf"], self._hidden)))
            return
        fresh["anyOf"] = self._list(part["oneOf"], where)
        effect: Effect = "rewritten" if _are_apart(part["oneOf"], self._definitions) else "weakened"
        self._report(where, effect, '"oneOf" is read as "anyOf"')

    def _constants(self, word: str, part: Schema, fresh: Schema, place: Place, said: list[str]) -> None:
        values = part["enum"] if word == "enum" else [part["const"]]
        schemas, is_exact = restrict(values, types_of(fresh))
        if len(schemas) == 1:
            fresh.update({**schemas[0], "items": fresh["items"]} if "items" in fresh else schemas[0])
        elif schemas and "anyOf" not in fresh:
            fresh.pop("type", None)
            fresh["anyOf"] = schemas
        else:
            is_exact = False
        if not is_exact:
            said.append(list_values(values))
            self._report((place, word), "weakened", "Gemini has no such enumeration; only stated in words")
        elif word == "const" or len(schemas) > 1:
            self._report((place, word), "rewritten", "an enumeration under each type")

    def _bound(self, word: str, limit: str, part: Schema, fresh: Schema, place: Place, said: list[str]) -> None:
        value = part[word]
        is_lower = limit == "minimum"
        if set(types_of(part)) <= {"integer", "null"} and types_of(part):
            value = math.floor(value) + 1 if is_lower else math.ceil(value) - 1
            self._report((place, word), "rewritten", f'moved by one into "{limit}"')
        else:
            said.append(say(word, value))
            self._report((place, word), "weakened", "Gemini has no bound that is itself excluded")
        if limit in fresh:
            value = max(value, fresh[limit]) if is_lower else min(value, fresh[limit])
        fresh[limit] = value

    def _patterns(self, part: Schema, fresh: Schema, place: Place, said: list[str]) -> None:
        rest = fresh.get("additionalProperties", True)
        inner = (place, "patternProperties")
        if rest is not True and rest != {}:
            named = [self.change(schema, (inner, key)) for key, schema in part["patternProperties"].items()]
            fresh["additionalProperties"] = either([*named, rest])
        self._drop("patternProperties", part, place, said)


def _is_simple(part: Any) -> bool:
    return isinstance(part, dict) and part.keys() <= _SIMPLE and "array" not in part.get("type", ())  # a text or a list


def _without_title(part: Schema) -> Schema:
    """What stands in a definition, its title as its description: Gemini has called titles there like functions."""
    if "title" not in part:
        return part
    rest = {word: value for word, value in part.items() if word != "title"}
    return rest if "description" in rest else {"description": part["title"], **rest}


def _refer(part: Schema, said: list[str]) -> Schema:
    if part.keys() == {"$ref"} and not said:
        return part
    fresh: Schema = {"$ref": part["$ref"]}
    note = part.get("description") or part.get("title")
    if note:
        fresh["description"] = note
    if "default" in part:
        fresh["default"] = part["default"]
    return describe(fresh, *said)


def _are_apart(branches: list[Any], definitions: dict[str, Any]) -> bool:
    """Whether no value can fit two of the branches: they differ in type, in value, or in a constant all require."""
    known = [
        definitions[branch["$ref"][len(_PREFIX) :]] if "$ref" in branch else branch for branch in branches if branch
    ]
    if len(known) < len(branches) or not all(isinstance(branch, dict) for branch in known):
        return False
    types = [types_of(branch) for branch in known]
    names = {name for named in types for name in named} - {"number"}
    if all(len(named) == 1 for named in types) and len(names) == len(types):
        return True
    values = [branch.get("enum", [branch["const"]] if "const" in branch else []) for branch in known]
    if all(values) and len({identity(value) for listed in values for value in listed}) == sum(map(len, values)):
        return True
    constants = [
        {
            key: identity(schema["const"])
            for key, schema in branch.get("properties", {}).items()
            if isinstance(schema, dict) and "const" in schema and key in branch.get("required", ())
        }
        for branch in known
    ]
    shared = set.intersection(*map(set, constants)) if constants else set()
    return any(len({constant[key] for constant in constants}) == len(constants) for key in shared)


def _complete(part: Schema, fresh: Schema) -> None:
    """What Gemini wants to be there: `items` of an array, and a property for each required name."""
    if fresh.get("items") is False:
        most = len(fresh.get("prefixItems", ()))
        fresh.update(items={}, maxItems=min(most, fresh.get("maxItems", most)))
    if "items" not in fresh and "array" in types_of(fresh):
        fresh["items"] = {}
    if "prefixItems" in fresh:
        fresh["prefixItems"] = [{} if schema is False else schema for schema in fresh["prefixItems"]]
    if "anyOf" in fresh:
        fresh["anyOf"] = [schema for schema in fresh["anyOf"] if schema is not False]
        if not fresh["anyOf"]:
            del fresh["anyOf"]
    if "required" in fresh:
        hidden = part.get("properties", {}).keys() - fresh.get("properties", {}).keys()
        if hidden:
            fresh["required"] = [key for key in fresh["required"] if key not in hidden]
        rest = fresh.get("additionalProperties")
        undefined = [key for key in fresh["required"] if key not in fresh.get("properties", {})]
        if undefined:
            any_value = rest if isinstance(rest, dict) else {}
            fresh["properties"] = {**fresh.get("properties", {}), **dict.fromkeys(undefined, any_value)}
