"""The arguments as one plain object: providers take no reference and no combinator at the root of a tool's schema.

A reference is unfolded, an `allOf` merged, `anyOf` and `oneOf` united: the properties of all branches, required what
all of them require. Which of them belong together is then said in words, for the tool's description.
"""

from typing import Any

from runtime.ai.formats.format import Schema
from runtime.ai.formats.report import Effect, Report
from runtime.ai.formats.schema.keywords import children, words
from runtime.ai.formats.schema.phrases import say, say_condition
from runtime.ai.formats.schema.unfolding import COMBINING, Unfolded, Unfolding, takes_objects

RULES_OF_THE_WHOLE = words("not if then else dependentRequired dependentSchemas")
"""Keywords that may stand at a root beside its properties, and are a rule for all arguments together."""

_PREFIX = "#/$defs/"


def flatten(schema: Schema, report: Report) -> tuple[Schema, list[str]]:
    """A well-formed schema as an object with its properties, and what has to be said of them in words.

    The rules of the mission's `processJsonSchema` are its base: nothing is the empty object, an object keeps what it
    says, anything else is taken for an object.
    """
    definitions = schema.get("$defs", {})
    whole: Unfolded | None = Unfolded(schema)
    if not COMBINING.isdisjoint(schema):
        own = {word: value for word, value in schema.items() if word != "$defs"}
        whole = Unfolding(definitions, report).unfold(own, None)
    if whole is None:
        report(None, "weakened", "no arguments can fit the schema, so any are taken")
        whole = Unfolded({})
    flat, remarks = whole.schema, [*whole.remarks]
    flat = _as_object(flat, remarks, report)
    return _with_reachable(flat, definitions) if definitions else flat, remarks


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


def _as_object(flat: Schema, remarks: list[str], report: Report) -> Schema:
    if not takes_objects(flat):
        report((None, "type"), "rewritten", "arguments are an object, whatever else the schema says")
        flat = {word: flat[word] for word in ("title", "description") if word in flat}
    flat = state_rules(flat, words("enum const"), remarks, report)
    properties = flat.get("properties", {})
    required = flat.get("required", [])
    undefined = [key for key in required if key not in properties]
    if undefined:
        message = f"required but not defined, so any value is taken: {', '.join(undefined)}"
        effect: Effect = "weakened" if flat.get("additionalProperties") is False else "rewritten"
        report((None, "required"), effect, message)
        rest = None if "patternProperties" in flat else flat.get("additionalProperties")
        properties = {**properties, **{key: rest if isinstance(rest, dict) else {} for key in undefined}}
    others = {word: value for word, value in flat.items() if word not in ("type", "$defs")}
    return {"type": "object", **others, "properties": properties, "required": required}


def _with_reachable(flat: Schema, definitions: dict[str, Any]) -> Schema:
    reached: set[str] = set()
    waiting: list[Any] = [flat]
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict):
            continue
        waiting += [inner for inner, _ in children(schema)]
        name = schema.get("$ref", "")[len(_PREFIX) :]
        if name and name not in reached:
            reached.add(name)
            waiting.append(definitions[name])
    kept = {name: schema for name, schema in definitions.items() if name in reached}
    return {**flat, "$defs": kept} if kept else flat
