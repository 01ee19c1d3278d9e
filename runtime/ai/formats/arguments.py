"""The arguments of a model's tool call: its JSON text decoded strictly, then held against the tool's own schema."""

from typing import Any

import msgspec

from runtime.errors import ToolError

_SHOWN = 200


def decode(text: str) -> dict[str, Any]:
    """The arguments that a model wrote as JSON text; nothing at all means none.

    Raises `ToolError` with `ERR_TOOL_ARGUMENTS`, in words that the model can act on.
    """
    if not text.strip():
        return {}
    try:
        arguments = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ToolError(
            f"the arguments are no valid JSON: {error}",
            code="ERR_TOOL_ARGUMENTS",
            hint="call the tool again with one JSON object",
        ) from error
    if not isinstance(arguments, dict):
        raise ToolError(
            f"the arguments must be one JSON object, found {text.strip()[:_SHOWN]}",
            code="ERR_TOOL_ARGUMENTS",
            hint="call the tool again with one JSON object",
        )
    return arguments
