"""OpenAI: Chat Completions (`openai`) and Responses (`openai-responses`).

Neither is `strict` unless asked: it would change which calls a tool takes. What is refused otherwise was observed as
the API's own answer: combinators, `not`, `enum` and `const` at the root, an array without `items`, a pattern that
Python's `re` does not compile or that looks around.
"""

from collections.abc import Callable
from typing import Any

from runtime.ai.formats.format import Adapted, Format, Memory, Plain, Schema
from runtime.ai.formats.openai_strict import make_strict
from runtime.ai.formats.place import Place
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema import objects
from runtime.ai.formats.schema.keywords import rebuild, types_of
from runtime.ai.formats.schema.loosening import loosen
from runtime.ai.formats.schema.merging import either
from runtime.ai.formats.schema.patterns import to_portable
from runtime.ai.formats.schema.phrases import describe, say
from runtime.ai.formats.schema.plain import is_plain_part
from runtime.ai.formats.schema.root import RULES_OF_THE_WHOLE, state_rules
from runtime.ai.provider_rules import OPENAI


def adapt(published: Any, report: Report, memory: Memory) -> Adapted:
    """The schema with what OpenAI takes without `strict`."""
    whole = objects.to_object(published, report, memory)
    if whole.texts is not None:
        return Adapted(whole.schema)
    weakened = report.weakened

    def change(part: Any, place: Place) -> Any:
        return _change_one(rebuild(part, place, change), place, report) if isinstance(part, dict) else part

    flat = _keep_plain(whole.schema, change, memory.plain)
    if report.weakened > weakened:
        flat = loosen(flat, report)
    remarks = [*whole.remarks]
    return Adapted(state_rules(flat, RULES_OF_THE_WHOLE, remarks, report), remarks)


def _keep_plain(flat: Schema, change: Callable[[Any, Place], Any], known: Plain) -> Schema:
    """The object with only those arguments and definitions changed that need a look."""
    fresh: Schema = change({**flat, "properties": {}, "$defs": {}}, None)
    for word in ("properties", "$defs"):
        if word in flat:
            fresh[word] = {
                key: part if is_plain_part(part, known) else change(part, ((None, word), key))
                for key, part in flat[word].items()
            }
        else:
            del fresh[word]
    return fresh


def _change_one(part: Schema, place: Place, report: Report) -> Schema:
    if "pattern" in part:
        part = _fix_pattern(part, place, report)
    if "patternProperties" in part:
        part = _fix_pattern_properties(part, place, report)
    if "items" not in part and "array" in types_of(part):
        report(place, "rewritten", 'an array without "items" has any members')
        part = {**part, "items": {}}
    return part


def _fix_pattern(part: Schema, place: Place, report: Report) -> Schema:
    pattern = part["pattern"]
    spelling = to_portable(pattern)
    if spelling == pattern:
        return part
    if spelling is not None:
        report((place, "pattern"), "rewritten", "the regular expression is spelled for Python")
        return {**part, "pattern": spelling}
    report((place, "pattern"), "weakened", "OpenAI does not take the regular expression; only stated in words")
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
        message = "OpenAI does not take the regular expression; only stated in words"
        report(((place, "patternProperties"), pattern), "weakened", message)
    return describe(fresh, say("patternProperties", lost))


def adapt_strictly(published: Any, report: Report, memory: Memory) -> Adapted:
    """The schema in strict form if nothing is lost by that, and as `adapt` has it if not."""
    adapted = adapt(published, report, memory)
    strict = None if adapted.remarks or report.weakened else make_strict(adapted.schema)
    return adapted if strict is None else Adapted(strict, is_strict=True)


def declare_chat(name: str, description: str, adapted: Adapted) -> dict[str, Any]:
    """A tool of Chat Completions, where a missing `strict` is false."""
    function: dict[str, Any] = {"name": name, "description": description, "parameters": adapted.schema}
    if adapted.is_strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def declare_response(name: str, description: str, adapted: Adapted) -> dict[str, Any]:
    """A tool of Responses, where a missing `strict` would be true."""
    return {
        "type": "function",
        "name": name,
        "description": description,
        "parameters": adapted.schema,
        "strict": adapted.is_strict,
    }


CHAT = Format("openai", adapt, declare_chat, max_tools=OPENAI.most_tools, adapt_strictly=adapt_strictly)
RESPONSES = Format(
    "openai-responses", adapt, declare_response, max_tools=OPENAI.most_tools, adapt_strictly=adapt_strictly
)
