"""What all formats start from: a tool's arguments as one sound object schema."""

from typing import Any

from runtime.ai.formats.format import Schema
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema.loosening import loosen
from runtime.ai.formats.schema.repair import repair
from runtime.ai.formats.schema.root import flatten


def make_sound(published: Any, report: Report) -> Schema:
    """The published schema in sound JSON Schema 2020-12, in which nothing refuses what the published one meant."""
    schema = repair(published, report)
    return loosen(schema, report) if report.weakened else schema


def to_object(published: Any, report: Report) -> tuple[Schema, list[str]]:
    """The sound schema as an object with properties and required ones, and what has to be said in words."""
    return flatten(make_sound(published, report), report)
