"""What all formats start from: a tool's arguments as one sound object schema.

Most schemas are plain, so what it takes to look closely at one is imported when there is need.
"""

from typing import Any

from runtime.ai.formats.format import Memory, Plain, Schema, Whole
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.plain import find_plain


def make_sound(published: Any, report: Report) -> Schema:
    """The published schema in sound JSON Schema 2020-12, in which nothing refuses what the published one meant."""
    published = _without_dialect(published)
    if isinstance(published, dict) and find_plain(published, {}):
        return published
    return _look_closely(published, report, {})


def to_object(published: Any, report: Report, memory: Memory) -> Whole:
    """The sound schema as an object, made once for all formats that share the memory."""
    if id(published) not in memory.wholes:
        own = Report()
        memory.wholes[id(published)] = published, _to_object(published, own, memory.plain), own
    _, whole, own = memory.wholes[id(published)]
    report.include(None, own)
    report.origins = own.origins
    return whole


def _to_object(published: Any, report: Report, known: Plain) -> Whole:
    published = _without_dialect(published)
    text = find_plain(published, known) if isinstance(published, dict) else b""
    if text:
        return Whole(published if "required" in published else {**published, "required": []}, (), text)
    from runtime.ai.formats.schema.root import flatten

    return Whole(*flatten(_look_closely(published, report, known), report))


def _look_closely(published: Any, report: Report, known: Plain) -> Schema:
    from runtime.ai.formats.schema.loosening import loosen
    from runtime.ai.formats.schema.repair import repair

    schema = repair(published, report, known)
    return loosen(schema, report) if report.weakened else schema


def _without_dialect(published: Any) -> Any:
    if isinstance(published, dict) and "$schema" in published:
        return {word: value for word, value in published.items() if word != "$schema"}
    return published
