"""What all formats share: the arguments as one well-formed object schema."""

from typing import Any

from runtime.ai.formats.format import Schema
from runtime.ai.formats.loosening import loosen
from runtime.ai.formats.repair import repair
from runtime.ai.formats.report import Report
from runtime.ai.formats.root import flatten


def well_formed(published: Any, report: Report) -> Schema:
    """The published schema in sound JSON Schema 2020-12, in which nothing refuses what the published one meant."""
    schema = repair(published, report)
    return loosen(schema, report) if report.weakened else schema


def to_object(published: Any, report: Report) -> tuple[Schema, list[str]]:
    """The well-formed schema as an object with properties and required ones, and what has to be said in words."""
    return flatten(well_formed(published, report), report)
