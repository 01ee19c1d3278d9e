"""Gemini: `parametersJsonSchema` (`gemini`) and the API's older Schema message, `parameters` (`gemini-parameters`).

What each takes is documented for the API's JSON Schema fields and its Schema message; the rest is observed as the API's
own answers. `gemini` is what to send: the other can say far less.
"""

from typing import Any

from runtime.ai.formats.format import Adapted, Format, Memory, Schema
from runtime.ai.formats.gemini_schema import rewrite
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema import objects
from runtime.ai.formats.schema.keywords import words
from runtime.ai.formats.schema.root import state_rules

MAX_TOOLS = 512
_RULES_OF_THE_WHOLE = words(
    "not if then else dependentRequired dependentSchemas propertyNames minProperties maxProperties"
)


def adapt(published: Any, report: Report, memory: Memory) -> Adapted:
    """The schema with what `parametersJsonSchema` takes."""
    whole = objects.to_object(published, report, memory)
    remarks = [*whole.remarks]
    flat = state_rules(whole.schema, _RULES_OF_THE_WHOLE, remarks, report)
    return Adapted(rewrite(flat, report, memory.rewritten, whole.texts), remarks)


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
