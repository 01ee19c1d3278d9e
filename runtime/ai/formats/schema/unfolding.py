"""A schema without reference and combinators on its top level: unfolded, merged, united."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from runtime.ai.formats.encoding import encode, write_json
from runtime.ai.formats.format import Schema
from runtime.ai.formats.place import Place
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.keywords import types_of, words
from runtime.ai.formats.schema.merging import both, either
from runtime.ai.formats.schema.phrases import say

COMBINING = words("$ref allOf anyOf oneOf")
_RULES = words("not if then else dependentRequired dependentSchemas")
_JUDGING = words("if dependentSchemas patternProperties additionalProperties")
_NAMING = words("type const enum title description")
_DEEPEST = 50
_LARGEST = 100_000
_LONGEST_INSIDE = 1000
_MOST_STEPS = 2000
_PREFIX = "#/$defs/"


class Unfolded(Struct, frozen=True):
    """A schema without combinators on its top level, and what it does not say."""

    schema: Schema
    remarks: tuple[str, ...] = ()


class Unfolding:
    """Unfolds schemas of one tool; definitions once, and in all within bounds."""

    def __init__(self, definitions: dict[str, Any], report: Report) -> None:
        self._definitions = definitions
        self._report = report
        self._steps = 0
        self._known: dict[str, Unfolded | None] = {}

    def unfold(self, schema: Any, place: Place, depth: int = 0) -> Unfolded | None:
        """The schema unfolded; None if nothing fits it."""
        self._steps += 1
        if not isinstance(schema, dict):
            return Unfolded({}) if schema else None
        if COMBINING.isdisjoint(schema):
            return Unfolded(schema)
        if depth > _DEEPEST or self._steps > _MOST_STEPS:
            self._report(place, "weakened", "too many combinators in one another; any arguments are taken")
            return Unfolded({})
        whole: Unfolded | None = Unfolded({word: value for word, value in schema.items() if word not in COMBINING})
        for part in self._parts(schema, place, depth):
            whole = self._join(whole, part, place)
        for word in ("anyOf", "oneOf"):
            if word in schema and whole is not None:
                whole = self._unite(whole, word, schema[word], (place, word), depth)
        return whole if whole is None else Unfolded(_close(whole.schema), whole.remarks)

    def _parts(self, schema: Schema, place: Place, depth: int) -> list[Unfolded | None]:
        for word in ("$ref", "allOf"):
            if word in schema:
                self._report((place, word), "rewritten", f'"{word}" is merged into the object')
        parts = [self._definition(schema["$ref"][len(_PREFIX) :], depth)] if "$ref" in schema else []
        inner = (place, "allOf")
        listed = enumerate(schema.get("allOf", ()))
        return parts + [self.unfold(part, (inner, str(index)), depth + 1) for index, part in listed]

    def _definition(self, name: str, depth: int) -> Unfolded | None:
        if name not in self._known:
            self._known[name] = self.unfold(self._definitions[name], ((None, "$defs"), name), depth + 1)
        return self._known[name]

    def _join(self, one: Unfolded | None, other: Unfolded | None, place: Place) -> Unfolded | None:
        if one is None or other is None or (takes_objects(one.schema) and not takes_objects(other.schema)):
            return None
        remarks = [*one.remarks, *other.remarks]

        def lose(word: str, value: Any) -> None:
            self._report((place, word), "weakened", f'a second "{word}" is only stated in words')
            remarks.append(say(word, value) or f"The arguments must also fit {write_json({word: value})}.")

        joined: Schema = both(one.schema, other.schema, lose)
        return Unfolded(joined, tuple(dict.fromkeys(remarks)))

    def _unite(self, whole: Unfolded, word: str, branches: list[Any], place: Place, depth: int) -> Unfolded | None:
        unfolded = [self.unfold(branch, (place, str(index)), depth + 1) for index, branch in enumerate(branches)]
        possible = _distinct([branch for branch in unfolded if branch is not None and takes_objects(branch.schema)])
        if not possible:
            self._report(place, "weakened", f'no branch of "{word}" takes an object; left out')
            return whole
        if len(possible) == 1:
            return self._join(whole, possible[0], place)
        united = _unite([branch.schema for branch in possible], whole.schema.get("properties", {}))
        if len(encode(united)) > _LARGEST:  # unions of unions can double with each level
            self._report(place, "weakened", f'the branches of "{word}" are too large to unite; left out')
            return whole
        self._report(place, "weakened", f'the branches of "{word}" are united; which belongs where is in words')
        return self._join(whole, Unfolded(united, (_say_branches(word, possible),)), place)


def _distinct(branches: list[Unfolded]) -> list[Unfolded]:
    return list({(encode(branch.schema), branch.remarks): branch for branch in branches}.values())


def takes_objects(schema: Schema) -> bool:
    """Whether the schema's type, if it names one, may be an object."""
    types = types_of(schema)
    return not types or "object" in types


def _unite(branches: Sequence[Schema], own: dict[str, Any]) -> Schema:
    """One schema for all branches; a property that `own` has already is narrowed only if every branch does so.

    What only some branches say of such a property is shown as what it may be, or kept as text.
    """
    variants: dict[str, list[Any]] = {}
    for branch in branches:
        for key, schema in branch.get("properties", {}).items():
            variants.setdefault(key, []).append(schema)
    united: Schema = {
        "properties": {
            key: _show(schemas) if key in own and len(schemas) < len(branches) else either(schemas)
            for key, schemas in variants.items()
        }
    }
    shared = set.intersection(*(set(branch.get("required", ())) for branch in branches))
    united["required"] = [key for key in branches[0].get("required", ()) if key in shared]
    if not any("patternProperties" in branch for branch in branches):
        rest = [branch.get("additionalProperties", True) for branch in branches]
        if all(schema is not True and schema != {} for schema in rest):
            united["additionalProperties"] = either(rest)
    return united


def _show(schemas: Sequence[Any]) -> Schema:
    """What some branches say of a property, without ruling out what the others allow."""
    if not all(isinstance(schema, dict) and schema.keys() <= _NAMING for schema in schemas):
        return {"anyOf": [*schemas, {}]}
    texts = [schema["description"] for schema in schemas if isinstance(schema, dict) and "description" in schema]
    return {"description": "\n".join(dict.fromkeys(texts))} if texts else {}


def _say_branches(word: str, branches: Sequence[Unfolded]) -> str:
    number = "exactly one" if word == "oneOf" else "at least one"
    lines = [f"- {_say_branch(branch)}" for branch in branches]
    return "\n".join([f"The arguments take {number} of these forms:", *lines])


def _say_branch(branch: Unfolded) -> str:
    schema = branch.schema
    properties: dict[str, Any] = schema.get("properties", {})
    constants = {
        key: inner["const"] for key, inner in properties.items() if isinstance(inner, dict) and "const" in inner
    }
    needed = [key for key in schema.get("required", ()) if key not in constants]
    optional = [key for key in properties if key not in needed and key not in constants]
    rules = {word: value for word, value in schema.items() if word in _RULES}
    facts = [f"{key} = {write_json(value)}" for key, value in constants.items()]
    facts += [f"with {', '.join(needed)}"] if needed else []
    facts += [f"optional {', '.join(optional)}"] if optional else []
    facts += [f"fits {write_json(rules)}"] if rules else []
    name = schema.get("description") or schema.get("title")
    text = ": ".join(filter(None, [name, "; ".join(facts)])) or "anything"
    inside = " ".join(branch.remarks)[:_LONGEST_INSIDE].replace("\n", "\n  ")
    return f"{text} ({inside})" if inside else text


def _close(schema: Schema) -> Schema:
    """`unevaluatedProperties: false` in the words of `additionalProperties`, where all that judges stands beside it."""
    if schema.get("unevaluatedProperties") is not False:
        return schema
    fresh = {word: value for word, value in schema.items() if word != "unevaluatedProperties"}
    return {**fresh, "additionalProperties": False} if _JUDGING.isdisjoint(fresh) else fresh
