"""OpenAI: Chat Completions (`openai`) and Responses (`openai-responses`)."""

from typing import Any

from runtime.ai.formats import schema
from runtime.ai.formats.format import Adapted, Format, Schema
from runtime.ai.formats.report import Note

MAX_TOOLS = 128


def adapt(parameters: Any, note: Note) -> Adapted:
    """The schema with what OpenAI takes without `strict`."""
    return Adapted(schema.to_object(parameters, note))


def declare_chat(name: str, description: str, parameters: Schema) -> dict[str, Any]:
    """A tool of Chat Completions, where a missing `strict` is false."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def declare_response(name: str, description: str, parameters: Schema) -> dict[str, Any]:
    """A tool of Responses, where a missing `strict` would be true."""
    return {
        "type": "function",
        "name": name,
        "description": description,
        "parameters": parameters,
        "strict": False,
    }


CHAT = Format("openai", adapt, declare_chat, max_tools=MAX_TOOLS)
RESPONSES = Format("openai-responses", adapt, declare_response, max_tools=MAX_TOOLS)
