"""What a schema must give up once a part of it says less than before.

A part that accepts more makes the whole accept more, except under `not`, in `if`, as a branch of `oneOf`, and for what
counts the members that `contains` or the keywords around left over. There a lost rule would refuse a valid call.
"""

from typing import Any

from runtime.ai.formats.format import Schema
from runtime.ai.formats.place import Place
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.keywords import rebuild, words
from runtime.ai.formats.schema.phrases import describe, say, say_condition

_TURNING = words("not if then else oneOf maxContains unevaluatedProperties unevaluatedItems")


def loosen(schema: Schema, report: Report) -> Schema:
    """The schema without the rules that a weakened part could turn against a valid call; those it states in words."""

    def change(part: Any, place: Place) -> Any:
        if not isinstance(part, dict):
            return part
        part = rebuild(part, place, change)
        return part if _TURNING.isdisjoint(part) else _loosen_one(part, place, report)

    fresh: Schema = change(schema, None)
    return fresh


def _loosen_one(schema: Schema, place: Place, report: Report) -> Schema:
    fresh = {word: value for word, value in schema.items() if word not in _TURNING}
    if "oneOf" in schema:
        if "anyOf" in schema:
            fresh["allOf"] = [*schema.get("allOf", []), {"anyOf": schema["oneOf"]}]
        else:
            fresh["anyOf"] = schema["oneOf"]
    for word in sorted(_TURNING & schema.keys()):
        report((place, word), "weakened", f'"{word}" is only stated in words, since a part of it says less')
    sentences = (
        say(word, schema[word]) for word in ("not", "unevaluatedProperties", "unevaluatedItems") if word in schema
    )
    return describe(fresh, *sentences, say_condition(schema))
