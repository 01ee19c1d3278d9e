"""What the service answers, as JSON Schema: the part of its description that no type of ours says."""

from collections.abc import Mapping
from typing import Any, get_args

from runtime.serve.runs import Status

TEXT: dict[str, Any] = {"type": "string"}
TEXT_OR_NULL: dict[str, Any] = {"type": ["string", "null"]}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
NUMBER: dict[str, Any] = {"type": "number"}
ANY_OBJECT: dict[str, Any] = {"type": "object"}


def _mapping(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": list(required), **more}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


_CALL = _mapping({"id": TEXT, "agent": TEXT, "name": TEXT, "arguments": {}})
_TOOL_CALL = _mapping(
    {"id": TEXT, "type": {"const": "function"}, "function": _mapping({"name": TEXT, "arguments": TEXT})}
)
_MESSAGE = _mapping(
    {"role": {"const": "assistant"}, "content": TEXT_OR_NULL, "refusal": {"type": "null"}},
    {"tool_calls": _list(_TOOL_CALL)},
)
_CHOICE = _mapping(
    {
        "index": {"const": 0},
        "message": _MESSAGE,
        "finish_reason": {"enum": ["stop", "length", "content_filter", "tool_calls"]},
        "logprobs": {"type": "null"},
    }
)
_USAGE = _mapping(
    {
        "prompt_tokens": COUNT,
        "completion_tokens": COUNT,
        "total_tokens": COUNT,
        "prompt_tokens_details": _mapping({"cached_tokens": COUNT}),
        "completion_tokens_details": _mapping({"reasoning_tokens": COUNT}),
    }
)

ANSWERS: Mapping[str, dict[str, Any]] = {
    "Error": _mapping(
        {
            "error": _mapping(
                {"message": TEXT, "code": TEXT, "type": TEXT},
                {"param": TEXT_OR_NULL, "resource": TEXT_OR_NULL, "hint": TEXT_OR_NULL},
            )
        },
        {"diagnostics": _list(ANY_OBJECT)},
    ),
    "Status": _mapping({"status": {"enum": ["ok", "ready", "draining"]}}),
    "Run": _mapping(
        {
            "id": TEXT,
            "target": TEXT,
            "status": {"enum": list(get_args(Status))},
            "created": {"type": "number", "description": "Seconds since 1970."},
            "seconds": NUMBER,
            "events": COUNT,
        },
        {
            "session": TEXT,
            "approvals": {**_list(_CALL), "description": "The calls that wait for approval."},
            "result": {"description": "What came of a run that finished; of an agent text, usage and steps."},
            "error": _mapping({"code": TEXT, "message": TEXT}),
            "steps": _list(ANY_OBJECT),
        },
    ),
    "Runs": _mapping({"runs": _list(_ref("Run"))}),
    "Approval": _mapping({"id": TEXT, "approved": {"type": "boolean"}, "reason": TEXT}),
    "Difference": _mapping({name: _list(TEXT) for name in ("started", "changed", "stopped", "kept")}),
    "Model": _mapping({"id": TEXT, "object": {"const": "model"}, "created": COUNT, "owned_by": TEXT}),
    "Models": _mapping({"object": {"const": "list"}, "data": _list(_ref("Model"))}),
    "Completion": _mapping(
        {
            "id": TEXT,
            "object": {"const": "chat.completion"},
            "created": COUNT,
            "model": TEXT,
            "choices": {**_list(_CHOICE), "minItems": 1, "maxItems": 1},
            "usage": _USAGE,
        }
    ),
    "Response": _mapping(
        {
            "id": TEXT,
            "object": {"const": "response"},
            "created_at": COUNT,
            "status": {"enum": ["completed", "incomplete"]},
            "model": TEXT,
            "output": _list(ANY_OBJECT),
            "usage": ANY_OBJECT,
        }
    ),
    "Graph": _mapping({"version": TEXT, "set": COUNT, "nodes": _list(ANY_OBJECT), "agents": _list(ANY_OBJECT)}),
    "Manifests": ANY_OBJECT,
    "Tools": _mapping({"agent": TEXT, "format": TEXT, "tools": _list(ANY_OBJECT)}),
    "Timeline": _mapping({"seconds": NUMBER, "spans": _list(ANY_OBJECT)}),
}
