"""What both OpenAI-compatible APIs tell of a run: its text as it comes, why it ended, the calls left to the caller."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from runtime.serve.handed_turns import name_calls
from runtime.serve.plain import wait_connected
from runtime.serve.responses import answer_error, answer_json
from runtime.serve.runs import ServedRun

REASONS = {"length": "length", "content-filter": "content_filter"}
CANCELLED = {"message": "the run was cancelled", "type": "server_error", "code": "ERR_SERVE_CANCELLED"}


async def wait_unfinished(request: Request, run: ServedRun) -> Response | None:
    """Wait until the run is over: what is answered where it has not finished; a caller who goes away stops it."""
    if not await wait_connected(request, run):
        return Response(status_code=499)
    if run.cause is not None:
        return answer_error(run.cause, has_run=True)
    if run.status != "finished":
        return answer_json({"error": CANCELLED}, 503)
    return None


async def follow_text(run: ServedRun, *, holds_text: bool) -> AsyncIterator[str | None]:
    """The text of each turn as it comes, a blank line between turns; None where a sign of life is due.

    With `holds_text` there is none: text that is to be of a form may be refused and asked for again.
    """
    has_text = is_new_turn = False
    async for _, line in run.follow():
        if not line:
            yield None
            continue
        event = msgspec.json.decode(line)
        if event["type"] == "text-delta" and not holds_text:
            yield ("\n\n" if is_new_turn and has_text else "") + event["text"]
            has_text, is_new_turn = True, False
        elif event["type"] == "tool-result":
            is_new_turn = True


def answer_text(result: Mapping[str, Any]) -> str:
    """The answer; a structured one as the JSON that it is, without what the model wrote around it."""
    if "output" in result:
        return msgspec.json.encode(result["output"]).decode()
    return str(result["text"])


def list_calls(run: ServedRun) -> list[dict[str, Any]]:
    """The calls that are left to the caller."""
    calls = run.result.get("toolCalls", [])
    has_results = any(step["toolResults"] for step in run.result["steps"])
    return [
        {
            "id": name,
            "type": "function",
            "function": {"name": call["name"], "arguments": msgspec.json.encode(call["arguments"]).decode()},
        }
        for name, call in zip(name_calls(run.id, len(calls), has_results=has_results), calls, strict=True)
    ]


def tell_reason(result: Mapping[str, Any]) -> str:
    """Why it ended, in the words of Chat Completions."""
    if "toolCalls" in result:
        return "tool_calls"
    # A run that had its last turn and wanted more was cut off, and no caller can answer those calls.
    return "length" if result["finishReason"] == "tool-calls" else REASONS.get(result["finishReason"], "stop")
