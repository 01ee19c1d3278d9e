"""A sound object schema as OpenAI takes it without `strict`.

What is refused was observed as the API's own answer: combinators, `not`, `enum` and `const` at the root, an array
without `items`, a pattern that Python's `re` does not compile or that looks around.
"""

from collections.abc import Callable
from typing import Any

from runtime.ai.formats.format import Adapted, Plain, Schema, Whole
from runtime.ai.formats.place import Place
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.keywords import rebuild, types_of, words
from runtime.ai.formats.schema.loosening import loosen
from runtime.ai.formats.schema.merging import either
from runtime.ai.formats.schema.patterns import to_portable
from runtime.ai.formats.schema.phrases import describe, say
from runtime.ai.formats.schema.plain import is_plain_part
from runtime.ai.formats.schema.root import RULES_OF_THE_WHOLE, state_rules

_JUDGING_MEMBERS = words("$ref allOf anyOf oneOf if contains")
_REFUSED = "OpenAI does not take the regular expression; only stated in words"


def rewrite(whole: Whole, report: Report, known: Plain) -> Adapted:
    """The schema with only those arguments and definitions changed that are not plain."""
    weakened = report.weakened

    def change(part: Any, place: Place) -> Any:
        return _change_one(rebuild(part, place, change), place, report) if isinstance(part, dict) else part

    parts = {word: whole.schema[word] for word in ("properties", "$defs") if word in whole.schema}
    flat: Schema = change({word: {} if word in parts else value for word, value in whole.schema.items()}, None)
    flat = {**flat, **{word: _change_named(named, word, change, known) for word, named in parts.items()}}
    if report.weakened > weakened:
        flat = loosen(flat, report)
    remarks = [*whole.remarks]
    return Adapted(state_rules(flat, RULES_OF_THE_WHOLE, remarks, report), remarks)


def _change_named(
    named: dict[str, Any], word: str, change: Callable[[Any, Place], Any], known: Plain
) -> dict[str, Any]:
    place = (None, word)
    return {key: part if is_plain_part(part, known) else change(part, (place, key)) for key, part in named.items()}


def _change_one(part: Schema, place: Place, report: Report) -> Schema:
    if "pattern" in part:
        part = _fix_pattern(part, place, report)
    if "patternProperties" in part:
        part = _fix_pattern_properties(part, place, report)
    if "items" not in part and "array" in types_of(part):
        part = _add_items(part, place, report)
    return part


def _add_items(part: Schema, place: Place, report: Report) -> Schema:
    """A word for the members; it judges all that is left, so `unevaluatedItems` would have nothing more to do."""
    report(place, "rewritten", 'an array without "items" has any members')
    if "unevaluatedItems" not in part:
        return {**part, "items": {}}
    rest = part["unevaluatedItems"]
    fresh = {word: value for word, value in part.items() if word != "unevaluatedItems"}
    if _JUDGING_MEMBERS.isdisjoint(part):
        return {**fresh, "items": rest}
    report((place, "unevaluatedItems"), "weakened", "OpenAI wants all members judged; only stated in words")
    return describe({**fresh, "items": {}}, say("unevaluatedItems", rest))


def _fix_pattern(part: Schema, place: Place, report: Report) -> Schema:
    pattern = part["pattern"]
    spelling = to_portable(pattern)
    if spelling == pattern:
        return part
    if spelling is not None:
        report((place, "pattern"), "rewritten", "the regular expression is spelled for Python")
        return {**part, "pattern": spelling}
    report((place, "pattern"), "weakened", _REFUSED)
    fresh = {word: value for word, value in part.items() if word != "pattern"}
    return describe(fresh, say("pattern", pattern))


def _fix_pattern_properties(part: Schema, place: Place, report: Report) -> Schema:
    published: dict[str, Any] = part["patternProperties"]
    legal = {to_portable(pattern): value for pattern, value in published.items()}
    lost = {pattern: value for pattern, value in published.items() if to_portable(pattern) is None}
    if not lost and list(legal) == list(published):
        return part
    legal.pop(None, None)
    fresh = {**part, "patternProperties": legal}
    rest = part.get("additionalProperties", True)
    if lost and rest is not True and rest != {}:
        fresh["additionalProperties"] = either([*lost.values(), rest])
    for pattern in lost:
        report(((place, "patternProperties"), pattern), "weakened", _REFUSED)
    return describe(fresh, say("patternProperties", lost))
