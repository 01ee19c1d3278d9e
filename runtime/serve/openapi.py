"""The service's description of itself, by OpenAPI 3.1: https://spec.openapis.org/oas/v3.1.1."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from runtime.serve.chat_request import NEUTRAL, READ_OVER, ChatRequest
from runtime.serve.guard import OPEN_PATHS
from runtime.serve.openapi_answers import ANSWERS
from runtime.serve.plain import ApprovalAnswer, EmptyRequest, RunRequest
from runtime.serve.response_request import NEUTRAL as NEUTRAL_OF_RESPONSES
from runtime.serve.response_request import READ_OVER as READ_OVER_BY_RESPONSES
from runtime.serve.response_request import ResponseRequest
from runtime.serve.responses import answer_json
from runtime.version import VERSION

JSON, EVENTS, HTML, TEXT = "application/json", "text/event-stream", "text/html", "text/plain"
BODIES: tuple[type, ...] = (ApprovalAnswer, ChatRequest, EmptyRequest, ResponseRequest, RunRequest)
PARAMETERS = {
    "after": ("query", "Answer once the set is another one than in this version, or after 20 s."),
    "call": ("path", "The id of a call, as the event `approval` and the run's `approvals` tell it."),
    "format": ("query", "The tool format to convert to: openai, openai-responses, anthropic or gemini."),
    "id": ("path", "The id of a run."),
    "idempotency-key": ("header", "A key of which there is one run of a target, however often it is asked for."),
    "last-event-id": ("header", "The number of an event, to go on after it."),
    "name": ("path", "The name of an agent."),
}


class Operation(msgspec.Struct, frozen=True):
    """What a method does at a path: `answers` have for each status a media type and the name of a schema, or none."""

    summary: str
    answers: Mapping[int, tuple[str, str]]
    body: str = ""
    more: tuple[str, ...] = ()


FAILS = {400: (JSON, "Error"), 404: (JSON, "Error")}
BEGINS = {**FAILS, 413: (JSON, "Error"), 415: (JSON, "Error"), 429: (JSON, "Error"), 503: (JSON, "Error")}
RUNS = {**BEGINS, 422: (JSON, "Error"), 500: (JSON, "Error"), 502: (JSON, "Error"), 504: (JSON, "Error")}
MCP = {200: (JSON, ""), 202: ("", ""), 400: (JSON, ""), 404: (JSON, "")}

PATHS: Mapping[str, Mapping[str, Operation]] = {
    "/": {"get": Operation("The page.", {200: (HTML, "")})},
    "/graph": {
        "get": Operation("What is live, with the state of each resource.", {200: (JSON, "Graph")}, "", ("after",)),
    },
    "/manifests": {"get": Operation("The manifests as last read, with what was found.", {200: (JSON, "Manifests")})},
    "/agents/{name}/tools": {
        "get": Operation(
            "The tools of an agent, and what a format makes of them.",
            {200: (JSON, "Tools"), **FAILS},
            "",
            ("format",),
        )
    },
    "/healthz": {"get": Operation("Whether the process answers.", {200: (JSON, "Status")})},
    "/readyz": {
        "get": Operation("Whether new runs are taken.", {200: (JSON, "Status"), 503: (JSON, "Status")}),
    },
    "/metrics": {"get": Operation("Counts and times, for Prometheus.", {200: (TEXT, "")})},
    "/openapi.json": {"get": Operation("This description.", {200: (JSON, "")})},
    "/runs": {
        "get": Operation("The runs that there are, the newest first.", {200: (JSON, "Runs")}),
        "post": Operation(
            "Begin a run. With `wait` the answer comes when it is over, else at once.",
            {200: (JSON, "Run"), 202: (JSON, "Run"), 409: (JSON, "Error"), **RUNS},
            "RunRequest",
            ("idempotency-key",),
        ),
    },
    "/runs/{id}": {
        "get": Operation("A run.", {200: (JSON, "Run"), 404: (JSON, "Error")}),
        "delete": Operation(
            "Stop a run; 409 where it is over.",
            {202: (JSON, "Run"), 404: (JSON, "Error"), 409: (JSON, "Run")},
        ),
    },
    "/runs/{id}/events": {
        "get": Operation(
            "The events of a run as they come, each with its number as `id`; `end` is the last.",
            {200: (EVENTS, ""), 404: (JSON, "Error")},
            "",
            ("last-event-id",),
        )
    },
    "/runs/{id}/timeline": {
        "get": Operation("What happened when in a run.", {200: (JSON, "Timeline"), 404: (JSON, "Error")}),
    },
    "/runs/{id}/approvals/{call}": {
        "post": Operation(
            "Let a call that waits for approval go on, or refuse it; 409 where that is decided.",
            {200: (JSON, "Approval"), **FAILS, 409: (JSON, "Error")},
            "ApprovalAnswer",
        )
    },
    "/apply": {
        "post": Operation(
            "Read the manifests again, and change what differs.",
            {200: (JSON, "Difference"), 400: (JSON, "Error"), 422: (JSON, "Error"), 500: (JSON, "Error")},
            "EmptyRequest",
        )
    },
    "/v1/models": {"get": Operation("The agents, as models.", {200: (JSON, "Models")})},
    "/v1/models/{name}": {"get": Operation("One agent.", {200: (JSON, "Model"), 404: (JSON, "Error")})},
    "/v1/chat/completions": {
        "post": Operation(
            "Ask an agent as OpenAI's Chat Completions do. With `stream` chunks come as events, and `[DONE]` last.",
            {200: (JSON, "Completion"), **RUNS},
            "ChatRequest",
        )
    },
    "/v1/responses": {
        "post": Operation(
            "Ask an agent as OpenAI's Responses API does; nothing is stored. With `stream` events come.",
            {200: (JSON, "Response"), **RUNS},
            "ResponseRequest",
        )
    },
    "/mcp": {
        "get": Operation("MCP over Streamable HTTP: what the server says by itself.", {200: (EVENTS, ""), **MCP}),
        "post": Operation("MCP over Streamable HTTP: messages of JSON-RPC.", MCP),
        "delete": Operation("MCP over Streamable HTTP: the end of a session.", {200: ("", ""), 404: (JSON, "")}),
    },
}
STREAMS = ("/v1/chat/completions", "/v1/responses")


class Description:
    """Endpoint for the description; with a token every path but the open ones needs it."""

    def __init__(self, has_token: bool) -> None:
        self._body = make_description(has_token)

    async def show(self, request: Request) -> Response:
        """`GET /openapi.json`."""
        return answer_json(self._body)


def make_description(has_token: bool) -> dict[str, Any]:
    """The description as JSON values."""
    _, bodies = msgspec.json.schema_components(BODIES, ref_template="#/components/schemas/{name}")
    _complete(bodies["ChatRequest"], READ_OVER, NEUTRAL)
    _complete(bodies["ResponseRequest"], READ_OVER_BY_RESPONSES, NEUTRAL_OF_RESPONSES)
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "runtime serve",
            "version": VERSION,
            "description": "A set of manifests as a service: agents as models, as tools of MCP, as runs.",
        },
        "paths": {
            path: {method: _describe(path, method, operation) for method, operation in methods.items()}
            for path, methods in PATHS.items()
        },
        "components": {
            "schemas": {**bodies, **ANSWERS},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if has_token else [],
    }


def _complete(body: dict[str, Any], read_over: Sequence[str], neutral: Mapping[str, Any]) -> None:
    """Add to the fields that are met those that are read over, or can only ask for nothing; there are no others."""
    body["additionalProperties"] = False
    body["properties"] |= {name: {"description": "Is read over."} for name in read_over}
    body["properties"] |= {name: {"enum": [None, value]} for name, value in neutral.items() if value is not None}


def _describe(path: str, method: str, operation: Operation) -> dict[str, Any]:
    names = [*re.findall(r"{(\w+)}", path), *operation.more]
    told: dict[str, Any] = {
        "operationId": "_".join([method, *re.findall(r"\w+", path)]),
        "summary": operation.summary,
        "responses": {str(status): _answer(path, status, *answer) for status, answer in operation.answers.items()},
    }
    if names:
        told["parameters"] = [_parameter(name) for name in names]
    if operation.body:
        told["requestBody"] = {"required": True, "content": {JSON: {"schema": _ref(operation.body)}}}
    if path in OPEN_PATHS:
        told["security"] = []
    return told


def _parameter(name: str) -> dict[str, Any]:
    place, description = PARAMETERS[name]
    parameter = {"name": name, "in": place, "description": description, "schema": {"type": "string"}}
    return {**parameter, "required": True} if place == "path" else parameter


def _answer(path: str, status: int, media: str, schema: str) -> dict[str, Any]:
    described: dict[str, Any] = {"description": "What was wrong." if schema == "Error" else "What was asked for."}
    if media:
        described["content"] = {media: {"schema": _ref(schema)} if schema else {}}
        if status == 200 and path in STREAMS:
            described["content"][EVENTS] = {}
    return described


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
