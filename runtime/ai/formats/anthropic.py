"""Anthropic: the Messages API (`anthropic`)."""

from typing import Any

from runtime.ai.formats import schema
from runtime.ai.formats.format import Adapted, Format, Schema
from runtime.ai.formats.report import Note


def adapt(parameters: Any, note: Note) -> Adapted:
    """The schema with what the Messages API takes."""
    return Adapted(schema.to_object(parameters, note))


def declare(name: str, description: str, parameters: Schema) -> dict[str, Any]:
    """A tool of the Messages API."""
    return {"name": name, "description": description, "input_schema": parameters}


MESSAGES = Format("anthropic", adapt, declare)
