"""The fields of a script, which `Mcp.ScriptedServer` takes."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from runtime.kind import FIXED, Fields, per_call


class ScriptedFailure(Fields):
    """A call that does not come to a result: what the connection or the protocol would say."""

    code: Annotated[
        Literal[
            "ERR_MCP_TRANSPORT",
            "ERR_MCP_TIMEOUT",
            "ERR_MCP_JSON_RPC_ERROR",
            "ERR_MCP_PROTOCOL",
            "ERR_MCP_LIMIT",
            "ERR_MCP_AUTH",
        ],
        Meta(description="What kind of failure it is."),
    ] = "ERR_MCP_JSON_RPC_ERROR"
    message: Annotated[str, Meta(description="The words of the failure.")] = "the script has an error here"


class ScriptedResult(Fields):
    """What a call gives, where it fits."""

    when: Annotated[
        dict[str, Any], Meta(description="Arguments that the call has, among others; without it every call fits.")
    ] = {}
    text: Annotated[str, Meta(description="A text; expressions see `arguments`.")] | UnsetType = UNSET
    content: Annotated[list[Any], Meta(description="Blocks of content, as MCP has them.")] | UnsetType = UNSET
    structured_content: Annotated[Any, Meta(description="Structured content: any JSON value.")] = UNSET
    is_error: Annotated[bool, Meta(description="Whether the tool says that it failed.")] = False
    error: Annotated[ScriptedFailure, Meta(description="Fail in the place of a result.")] | UnsetType = UNSET
    delay_ms: Annotated[int, Meta(description="Milliseconds to wait before the answer.", ge=0)] = 0


class ScriptedTool(Fields):
    """A tool, as a server lists it, and what its calls give."""

    name: Annotated[str, Meta(description="The tool's name.", min_length=1, extra_json_schema=FIXED)]
    description: Annotated[str, Meta(description="What the tool does.", extra_json_schema=FIXED)] = ""
    input_schema: Annotated[
        dict[str, Any], Meta(description="The JSON Schema of its arguments.", extra_json_schema=FIXED)
    ] = field(default_factory=lambda: {"type": "object"})
    output_schema: (
        Annotated[dict[str, Any], Meta(description="The JSON Schema of structured content.", extra_json_schema=FIXED)]
        | UnsetType
    ) = UNSET
    annotations: Annotated[
        dict[str, Any], Meta(description="Hints such as `readOnlyHint`.", extra_json_schema=FIXED)
    ] = {}
    answers: Annotated[
        list[ScriptedResult],
        Meta(
            description="What calls give: the first that fits. Expressions see `arguments`. A call that nothing fits is"
            " a fault of the script.",
            extra_json_schema=per_call(arguments="inputSchema"),
        ),
    ] = []


class ScriptedRequest(Fields):
    """What another request gives, such as `resources/read`."""

    method: Annotated[str, Meta(description="The request's method.", min_length=1)]
    params: Annotated[dict[str, Any], Meta(description="Parameters that the request has, among others.")] = {}
    result: Annotated[dict[str, Any], Meta(description="What it gives.")] = {}


class ScriptedInfo(Fields):
    """How the server introduces itself."""

    name: Annotated[str, Meta(description="The server's name.", min_length=1)] = "scripted"
    version: Annotated[str, Meta(description="The server's version.", min_length=1)] = "1"
