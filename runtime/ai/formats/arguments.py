"""The arguments of a model's tool call: its JSON text decoded strictly, then held against the tool's own schema."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from runtime.ai.contracts import Tool
from runtime.ai.formats.checking.faults import find_faults
from runtime.ai.formats.checking.validation import Fault
from runtime.ai.formats.format import Memory, Schema
from runtime.ai.formats.nulls import drop_nulls
from runtime.ai.formats.report import Rename, Report
from runtime.ai.formats.schema import objects
from runtime.ai.formats.schema.keywords import types_of
from runtime.errors import ToolError

CODE = "ERR_TOOL_ARGUMENTS"


def decode(text: str) -> dict[str, Any]:
    """The arguments that a model wrote as JSON text; no text, or `null`, means none.

    Raises `ToolError` with `ERR_TOOL_ARGUMENTS`, in words that the model can act on.
    """
    if not text or text.isspace():
        return {}
    try:
        arguments = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise _refuse(f"the arguments are no valid JSON: {error}", "one JSON object") from error
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise _refuse("the arguments are no JSON object", "one JSON object")
    return arguments


def check(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the tool gets them, checked once; `ArgumentCheck` for a tool that is called again."""
    return ArgumentCheck(tool.parameters).accept(tool.name, arguments)


class ArgumentCheck:
    """Holds arguments against the schema that a tool was published with; what that takes is made at the first call."""

    def __init__(self, published: Any, renames: Sequence[Rename] = ()) -> None:
        self._published = published
        self._offered = {rename.original: rename.offered for rename in renames}

    def accept(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the tool gets them: a null for an optional one that takes none is left out.

        Raises `ToolError` with `ERR_TOOL_ARGUMENTS` that says what does not fit and where, in the keys that the model
        knows; `details` has the faults. What a schema leaves unclear passes: the server has the last word.
        """
        given = dict(arguments)
        faults = find_faults(self._sound, given)
        if not faults:
            return given
        slim: dict[str, Any] = drop_nulls(self._object, given)
        if slim != given:
            faults = find_faults(self._sound, slim)
            if not faults:
                return slim
        shown = [self._spell(fault) for fault in faults]
        raise _refuse(
            f'the arguments do not fit the tool "{tool}": {"; ".join(map(str, shown))}', "arguments that fit", shown
        )

    @cached_property
    def _sound(self) -> Schema:
        sound = objects.make_sound(self._published, Report())
        types = types_of(sound)
        return sound if not types or "object" in types else {}  # arguments are an object, so that schema is a mistake

    @cached_property
    def _object(self) -> Schema:
        return objects.to_object(self._published, Report(), Memory()).schema

    def _spell(self, fault: Fault) -> Fault:
        """The fault in the keys that the model knows."""
        for original, offered in self._offered.items():
            step = "/" + original.replace("~", "~0").replace("/", "~1")
            if fault.pointer == step or fault.pointer.startswith(step + "/"):
                return Fault(f"/{offered}{fault.pointer[len(step) :]}", fault.message, fault.keyword)
        message = fault.message
        if not fault.pointer:
            for original, offered in self._offered.items():
                message = message.replace(f'"{original}"', f'"{offered}"')
        return Fault(fault.pointer, message, fault.keyword)


def _refuse(message: str, wanted: str, faults: Sequence[Fault] = ()) -> ToolError:
    return ToolError(
        message,
        code=CODE,
        hint=f"call the tool again with {wanted}",
        details={"faults": [{"pointer": fault.pointer, "message": fault.message} for fault in faults]}
        if faults
        else None,
    )
