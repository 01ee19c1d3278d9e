"""Anthropic: the Messages API (`anthropic`).

It takes any sound schema of JSON Schema 2020-12 but for combinators at the root, and top-level keys of letters, digits,
`_`, `.` and `-` alone, 64 at most; both observed as the API's own answers. Keys outside of that are renamed.
"""

import re
from typing import Any

from runtime.ai.formats.format import Adapted, Format, Memory
from runtime.ai.formats.names import mark, strip_accents
from runtime.ai.formats.report import Rename, Report
from runtime.ai.formats.schema import objects
from runtime.ai.formats.schema.keywords import words
from runtime.ai.formats.schema.phrases import describe
from runtime.ai.formats.schema.root import RULES_OF_THE_WHOLE, state_rules

_KEY_LIMIT = 64
_LEGAL_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ILLEGAL_RUN = re.compile(r"[^A-Za-z0-9_.-]+")
_BY_KEY = words("propertyNames patternProperties unevaluatedProperties")


def adapt(published: Any, report: Report, memory: Memory) -> Adapted:
    """The schema with what the Messages API takes, and the top-level keys that were renamed."""
    whole = objects.to_object(published, report, memory)
    flat, remarks = whole.schema, [*whole.remarks]
    if all(map(_LEGAL_KEY.fullmatch, flat["properties"])):
        return Adapted(flat, remarks)
    offered = _offer_keys(list(flat["properties"]))
    for key, other in offered.items():
        report(((None, "properties"), key), "rewritten", f'the model sees it as "{other}"')
    if "patternProperties" in flat:  # a pattern would judge the new keys
        flat = {word: value for word, value in flat.items() if word != "additionalProperties"}
    flat = state_rules(flat, RULES_OF_THE_WHOLE | _BY_KEY, remarks, report)
    properties = {
        offered.get(key, key): _tell_own_key(argument, key) if key in offered else argument
        for key, argument in flat["properties"].items()
    }
    required = [offered.get(key, key) for key in flat["required"]]
    renames = [Rename("", key, other) for key, other in offered.items()]
    return Adapted({**flat, "properties": properties, "required": required}, remarks, renames)


def _offer_keys(keys: list[str]) -> dict[str, str]:
    taken = {key for key in keys if _LEGAL_KEY.fullmatch(key)}
    offered = {}
    for key in sorted(set(keys) - taken):
        candidate = _ILLEGAL_RUN.sub("_", strip_accents(key)) or "_"
        if len(candidate) > _KEY_LIMIT or candidate in taken:
            candidate = mark(candidate, key, taken, _KEY_LIMIT)
        taken.add(candidate)
        offered[key] = candidate
    return {key: offered[key] for key in keys if key in offered}


def _tell_own_key(argument: Any, key: str) -> Any:
    return describe(argument, f'The tool calls this "{key}".') if isinstance(argument, dict) else argument


def declare(name: str, description: str, adapted: Adapted) -> dict[str, Any]:
    """A tool of the Messages API."""
    return {"name": name, "description": description, "input_schema": adapted.schema}


MESSAGES = Format("anthropic", adapt, declare)
