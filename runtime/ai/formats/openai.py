"""OpenAI: Chat Completions (`openai`) and Responses (`openai-responses`).

Neither is `strict` unless asked: it would change which calls a tool takes.
"""

from typing import Any

from runtime.ai.formats.format import Adapted, Format, Memory
from runtime.ai.formats.report import Report
from runtime.ai.formats.schema import objects
from runtime.ai.provider_rules import OPENAI


def adapt(published: Any, report: Report, memory: Memory) -> Adapted:
    """The schema with what OpenAI takes without `strict`."""
    whole = objects.to_object(published, report, memory)
    if whole.text:
        return Adapted(whole.schema)
    from runtime.ai.formats.openai_schema import rewrite

    return rewrite(whole, report, memory.plain)


def adapt_strictly(published: Any, report: Report, memory: Memory) -> Adapted:
    """The schema in strict form if nothing is lost by that, and as `adapt` has it if not."""
    adapted = adapt(published, report, memory)
    if adapted.remarks or report.weakened:
        return adapted
    from runtime.ai.formats.openai_strict import make_strict

    strict = make_strict(adapted.schema)
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
