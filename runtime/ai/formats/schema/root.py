"""The arguments as one plain object: providers take no reference and no combinator at the root of a tool's schema.

A reference is unfolded, an `allOf` merged, `anyOf` and `oneOf` united: the properties of all branches, required what
all of them require. Which of them belong together is then said in words, for the tool's description.
"""

from collections.abc import Sequence
from typing import Any

from runtime.ai.formats.encoding import write_json
from runtime.ai.formats.format import Schema
from runtime.ai.formats.place import Place
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.keywords import children, types_of, words
from runtime.ai.formats.schema.merging import both, either
from runtime.ai.formats.schema.phrases import say, say_condition

RULES_OF_THE_WHOLE = words("not if then else dependentRequired dependentSchemas")
"""Keywords that may stand at a root beside its properties, and are a rule for all arguments together."""

_COMBINING = words("$ref allOf anyOf oneOf")
_DEEPEST = 50
_MOST_STEPS = 2000
_PREFIX = "#/$defs/"


def flatten(schema: Schema, report: Report) -> tuple[Schema, list[str]]:
    """A well-formed schema as an object with its properties, and what has to be said of them in words.

    The rules of the mission's `processJsonSchema` are its base: nothing is the empty object, an object keeps what it
    says, anything else is taken for an object.
    """
    remarks: list[str] = []
    if _COMBINING.isdisjoint(schema):
        flat = schema
    else:
        unfolding = _Unfolding(schema.get("$defs", {}), report)
        flat = unfolding.unfold({word: value for word, value in schema.items() if word != "$defs"}, None, 0)
        flat = {} if flat is False else flat
        remarks += flat.pop(_REMARKS, [])
    flat = _as_object(flat, remarks, report)
    if "$defs" in schema:
        flat = _with_reachable(flat, schema["$defs"])
    return flat, remarks


_REMARKS = "\0remarks"
"""Where remarks travel with a schema that is being unfolded; no published keyword can be this."""


class _Unfolding:
    def __init__(self, definitions: dict[str, Any], report: Report) -> None:
        self._definitions = definitions
        self._report = report
        self._steps = 0
        self._unfolded: dict[str, Any] = {}

    def unfold(self, schema: Any, place: Place, depth: int) -> Any:
        """The schema without reference and combinators on this level, as a new dictionary; False if nothing fits."""
        self._steps += 1
        if not isinstance(schema, dict):
            return {} if schema else False
        if _COMBINING.isdisjoint(schema):
            return dict(schema)
        if depth > _DEEPEST or self._steps > _MOST_STEPS:
            self._report(place, "weakened", "too many combinators in one another; any arguments are taken")
            return {}
        flat: Any = {word: value for word, value in schema.items() if word not in _COMBINING}
        parts = [self._definition(schema["$ref"], depth)] if "$ref" in schema else []
        inner = (place, "allOf")
        parts += [
            self.unfold(part, (inner, str(index)), depth + 1) for index, part in enumerate(schema.get("allOf", ()))
        ]
        for word in ("$ref", "allOf"):
            if word in schema:
                self._report((place, word), "rewritten", f'"{word}" is merged into the object')
        for part in parts:
            flat = self._join(flat, part, place)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                flat = self._unite(flat, word, schema[word], (place, word), depth)
        return _close(flat) if isinstance(flat, dict) else flat

    def _definition(self, reference: str, depth: int) -> Any:
        name = reference[len(_PREFIX) :]
        if name not in self._unfolded:
            self._unfolded[name] = self.unfold(self._definitions[name], (((None, "$defs"), name)), depth + 1)
        known = self._unfolded[name]
        return dict(known) if isinstance(known, dict) else known

    def _join(self, one: Any, other: Any, place: Place) -> Any:
        if one is False or other is False:
            return False
        remarks = [*one.pop(_REMARKS, []), *other.pop(_REMARKS, [])]
        kinds = [types_of(part) for part in (one, other)]
        if kinds[0] and kinds[1] and "object" in kinds[0] and "object" not in kinds[1]:
            return False

        def lose(word: str, value: Any) -> None:
            self._report((place, word), "weakened", f'a second "{word}" is only stated in words')
            remarks.append(say(word, value) or f"The arguments must also fit {write_json({word: value})}.")

        joined = both(one, other, lose)
        return {**joined, _REMARKS: list(dict.fromkeys(remarks))} if remarks else dict(joined)

    def _unite(self, flat: Any, word: str, branches: Sequence[Any], place: Place, depth: int) -> Any:
        if flat is False:
            return False
        unfolded = [self.unfold(branch, (place, str(index)), depth + 1) for index, branch in enumerate(branches)]
        possible = [branch for branch in unfolded if branch is not False and _takes_objects(branch)]
        if not possible:
            self._report(place, "weakened", f'no branch of "{word}" takes an object; left out')
            return flat
        if len(possible) == 1:
            return self._join(flat, possible[0], place)
        self._report(place, "weakened", f'the branches of "{word}" are united; which belongs where is in words')
        remarks = [*flat.get(_REMARKS, []), _say_branches(word, possible)]
        united = _unite(possible, flat.get("properties", {}))
        return {**self._join(flat, united, place), _REMARKS: remarks}


def _takes_objects(schema: Schema) -> bool:
    types = types_of(schema)
    return not types or "object" in types


def _unite(branches: Sequence[Schema], own: dict[str, Any]) -> Schema:
    """One schema for all branches; a property that `own` has already is narrowed only if every branch does so.

    What branches say of such a property otherwise is kept as text.
    """
    properties = [branch.get("properties", {}) for branch in branches]
    variants: dict[str, list[Any]] = {}
    for listed in properties:
        for key, schema in listed.items():
            variants.setdefault(key, []).append(schema)
    united: Schema = {
        "properties": {
            key: _join_descriptions(schemas) if key in own and len(schemas) < len(branches) else either(schemas)
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


def _join_descriptions(schemas: Sequence[Any]) -> Schema:
    texts = [schema["description"] for schema in schemas if isinstance(schema, dict) and "description" in schema]
    return {"description": "\n".join(dict.fromkeys(texts))} if texts else {}


def _say_branches(word: str, branches: Sequence[Schema]) -> str:
    number = "exactly one" if word == "oneOf" else "at least one"
    return "\n".join(
        [f"The arguments take {number} of these forms:", *(f"- {_say_branch(branch)}" for branch in branches)]
    )


def _say_branch(branch: Schema) -> str:
    properties: dict[str, Any] = branch.get("properties", {})
    constants = {
        key: schema["const"] for key, schema in properties.items() if isinstance(schema, dict) and "const" in schema
    }
    needed = [key for key in branch.get("required", ()) if key not in constants]
    optional = [key for key in properties if key not in needed and key not in constants]
    facts = [f"{key} = {write_json(value)}" for key, value in constants.items()]
    facts += [f"with {', '.join(needed)}"] if needed else []
    facts += [f"optional {', '.join(optional)}"] if optional else []
    rest = {word: value for word, value in branch.items() if word in ("not", "if", "then", "else", "dependentRequired")}
    facts += [f"fits {write_json(rest)}"] if rest else []
    named = " ".join(filter(None, [branch.get("description") or branch.get("title")]))
    inner = " ".join(branch.get(_REMARKS, ())).replace("\n", "\n  ")
    return ": ".join(filter(None, [named, "; ".join(facts) or ("" if named else "anything")])) + (
        f" ({inner})" if inner else ""
    )


def _close(flat: Schema) -> Schema:
    """`unevaluatedProperties: false` in the words of `additionalProperties`, where all properties stand beside it."""
    if flat.get("unevaluatedProperties") is not False:
        return flat
    fresh = {word: value for word, value in flat.items() if word != "unevaluatedProperties"}
    if "additionalProperties" not in fresh and words("if dependentSchemas patternProperties").isdisjoint(fresh):
        fresh["additionalProperties"] = False
    return fresh


def _as_object(flat: Schema, remarks: list[str], report: Report) -> Schema:
    if not _takes_objects(flat):
        report((None, "type"), "rewritten", "arguments are an object, whatever else the schema says")
        flat = {word: flat[word] for word in ("title", "description") if word in flat}
    for word in ("enum", "const"):
        if word in flat:
            report((None, word), "weakened", f'"{word}" of the whole arguments is only stated in words')
            remarks.append(f"All arguments together: {say(word, flat[word])}")
    properties = flat.get("properties", {})
    required = flat.get("required", [])
    undefined = [key for key in required if key not in properties]
    if undefined:
        report(
            (None, "required"), "rewritten", f"required but not defined, so any value is taken: {', '.join(undefined)}"
        )
        rest = None if "patternProperties" in flat else flat.get("additionalProperties")
        properties = {**properties, **{key: rest if isinstance(rest, dict) else {} for key in undefined}}
    others = {word: value for word, value in flat.items() if word not in ("type", "enum", "const", "$defs")}
    return {"type": "object", **others, "properties": properties, "required": required}


def _with_reachable(flat: Schema, definitions: dict[str, Any]) -> Schema:
    reached: dict[str, None] = {}
    waiting: list[Any] = [flat]
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict):
            continue
        waiting += [inner for inner, _ in children(schema)]
        name = schema.get("$ref", "")[len(_PREFIX) :]
        if name and name not in reached:
            reached[name] = None
            waiting.append(definitions[name])
    return (
        {**flat, "$defs": {name: schema for name, schema in definitions.items() if name in reached}}
        if reached
        else flat
    )


def state_rules(flat: Schema, rules: frozenset[str], remarks: list[str], report: Report) -> Schema:
    """The object without those keywords of its own; each goes into `remarks` in words."""
    if rules.isdisjoint(flat):
        return flat
    found = [word for word in flat if word in rules]
    for word in found:
        report((None, word), "weakened", f'"{word}" of the whole arguments is only stated in words')
    sentences = [say(word, flat[word]) for word in found if word not in ("if", "then", "else")]
    if "if" in found:
        sentences.append(say_condition(flat))
    remarks += [f"All arguments together: {sentence}" for sentence in sentences if sentence]
    return {word: value for word, value in flat.items() if word not in rules}
