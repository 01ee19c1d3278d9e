"""Gemini: `parametersJsonSchema` (`gemini`) and the API's older Schema message, `parameters` (`gemini-parameters`).

What each takes is documented for the API's JSON Schema fields and its Schema message; the rest is observed as the API's
own answers. `gemini` is what to send: the other can say far less.
"""

from typing import Any

from runtime.ai.formats.format import Adapted, Format, Memory
from runtime.ai.formats.gemini_parameters import write
from runtime.ai.formats.gemini_schema import Rewriting
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema import objects
from runtime.ai.formats.schema.keywords import words
from runtime.ai.formats.schema.root import RULES_OF_THE_WHOLE, state_rules
from runtime.ai.provider_rules import GEMINI

_RULES = RULES_OF_THE_WHOLE | words("propertyNames minProperties maxProperties")
_READ_BY_PARAMETERS = words("pattern minLength maxLength minProperties maxProperties")


def adapt(published: Any, report: Report, memory: Memory) -> Adapted:
    """The schema with what `parametersJsonSchema` takes."""
    return _rewrite(published, report, memory, frozenset())


def adapt_parameters(published: Any, report: Report, memory: Memory) -> Adapted:
    """The schema as the Schema message; raises `InexpressibleError` where that would be too large."""
    adapted = _rewrite(published, report, memory, _READ_BY_PARAMETERS)
    message, hidden = write(adapted.schema, report)
    return Adapted(message, [*adapted.remarks, *hidden])


def _rewrite(published: Any, report: Report, memory: Memory, read: frozenset[str]) -> Adapted:
    whole = objects.to_object(published, report, memory)
    remarks = [*whole.remarks]
    flat = state_rules(whole.schema, _RULES, remarks, report)
    known = memory.rewritten.setdefault("gemini-parameters" if read else "gemini", {})
    return Adapted(Rewriting(flat.get("$defs", {}), report, known, read).run(flat, whole.text), remarks)


def declare_json_schema(name: str, description: str, adapted: Adapted) -> dict[str, Any]:
    """A function declaration whose parameters are JSON Schema."""
    return {"name": name, "description": description, "parametersJsonSchema": adapted.schema}


def declare_parameters(name: str, description: str, adapted: Adapted) -> dict[str, Any]:
    """A function declaration whose parameters are the API's own Schema message."""
    return {"name": name, "description": description, "parameters": adapted.schema}


def collect(declarations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All declarations as one Tool message."""
    return [{"functionDeclarations": declarations}]


JSON_SCHEMA = Format("gemini", adapt, declare_json_schema, collect, GEMINI.most_tools)
PARAMETERS = Format("gemini-parameters", adapt_parameters, declare_parameters, collect, GEMINI.most_tools)
