"""Answers of the service: JSON, errors, streams of events; and the JSON that callers send."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from runtime.errors import AgentError, Error, McpError, ModelError, ToolError, UsageError
from runtime.serve.admission import RETRY_AFTER, Busy
from runtime.serve.approvals import NotWaiting
from runtime.serve.service import NotFound
from runtime.serve.sessions import SessionBusy

STILL_HERE = b": still here\n\n"
"""A comment among events, so that nothing between closes a connection on which nothing is said for a while."""
BODY_SECONDS = 30.0
"""For a body to arrive, counted from its start."""
_ASKED_WRONGLY = {"ERR_AGENT_CALLER_TOOL", "ERR_AGENT_INPUT", "ERR_AGENT_OPTION", "ERR_SERVE_REQUEST"}

T = TypeVar("T")


class BadRequest(Error):
    """A request that cannot be carried out as it stands; `status` is the one of HTTP."""

    code = "ERR_SERVE_REQUEST"

    def __init__(self, message: str, *, status: int = 400, hint: str | None = None, param: str | None = None) -> None:
        """`param` is the field of the request that is at fault."""
        super().__init__(message, hint=hint)
        self.status = status
        self.param = param


def answer_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value) + b"\n", status, headers, "application/json")


def status_of(error: Error) -> int:
    """The status of HTTP for an error of ours."""
    if isinstance(error, BadRequest | Busy):
        return error.status
    if isinstance(error, SessionBusy | NotWaiting):
        return 409
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, UsageError) or error.code in _ASKED_WRONGLY:
        return 400
    if isinstance(error, McpError | ModelError | ToolError):
        return 504 if error.code.endswith("_TIMEOUT") else 502
    return 422 if isinstance(error, AgentError) else 500


def error_body(error: Error) -> dict[str, Any]:
    """An error as JSON, in a form that clients of the OpenAI API read as well."""
    status = status_of(error)
    kind = "rate_limit_error" if status == 429 else "invalid_request_error" if status < 500 else "server_error"
    body: dict[str, Any] = {
        "message": error.message,
        "type": kind,
        "code": error.code,
    }
    param = error.param if isinstance(error, BadRequest) else None
    body |= {"param": param, "resource": error.resource, "hint": error.hint}
    return {"error": body}


def answer_error(error: Error, *, has_run: bool = False) -> Response:
    """An error; `has_run` says that asking again would act twice, and clients that ask again by themselves are told."""
    headers = {"retry-after": str(RETRY_AFTER)} if isinstance(error, Busy) else {}
    if has_run:
        headers["x-should-retry"] = "false"
    return answer_json(error_body(error), status_of(error), headers)


async def read_json(request: Request, into: type[T]) -> T:
    """The body of a request as a value of a type; raises BadRequest."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise BadRequest('the body has to be JSON: send "content-type: application/json"', status=415)
    try:
        with anyio.fail_after(BODY_SECONDS):
            body = await request.body()
    except TimeoutError:
        raise BadRequest(f"the body did not arrive within {BODY_SECONDS:g} s", status=408) from None
    try:
        value = msgspec.json.decode(body, type=into)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"the body does not fit: {error}") from error
    return value


def stream_events(lines: AsyncIterator[bytes]) -> Response:
    """Server-sent events as they come."""
    return StreamingResponse(lines, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def event_line(data: bytes, number: int | None = None, name: str = "") -> bytes:
    """One event; `data` is a single line."""
    head = b"" if number is None else b"id: %d\n" % number
    return head + (b"event: %b\n" % name.encode() if name else b"") + b"data: " + data + b"\n\n"
