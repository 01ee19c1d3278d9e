"""Gemini: `parametersJsonSchema` (`gemini`) and the older `parameters` (`gemini-parameters`)."""

from typing import Any

from runtime.ai.formats import schema
from runtime.ai.formats.format import Adapted, Format, Schema
from runtime.ai.formats.report import Note

MAX_TOOLS = 512


def adapt(parameters: Any, note: Note) -> Adapted:
    """The schema with what `parametersJsonSchema` takes."""
    return Adapted(schema.to_object(parameters, note))


def declare_json_schema(name: str, description: str, parameters: Schema) -> dict[str, Any]:
    """A function declaration whose parameters are JSON Schema."""
    return {"name": name, "description": description, "parametersJsonSchema": parameters}


def declare_parameters(name: str, description: str, parameters: Schema) -> dict[str, Any]:
    """A function declaration whose parameters are the API's own Schema message."""
    return {"name": name, "description": description, "parameters": parameters}


def collect(declarations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All declarations as one Tool message."""
    return [{"functionDeclarations": declarations}]


JSON_SCHEMA = Format("gemini", adapt, declare_json_schema, collect, MAX_TOOLS)
PARAMETERS = Format("gemini-parameters", adapt, declare_parameters, collect, MAX_TOOLS)
