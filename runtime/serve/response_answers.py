"""Answers of the Responses API: a run as one response, or as the events of one.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from runtime.serve.chat_completions import ChatRoutes
from runtime.serve.openai_runs import CANCELLED, answer_text, follow_text, list_calls, tell_reason, wait_unfinished
from runtime.serve.response_request import ResponseRequest, read_response
from runtime.serve.responses import (
    STILL_HERE,
    answer_json,
    error_body,
    event_line,
    read_json,
    stream_events,
)
from runtime.serve.runs import ServedRun

CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponseRoutes:
    """The endpoint; what is asked is begun as a chat is."""

    def __init__(self, chat: ChatRoutes) -> None:
        self._chat = chat

    async def respond(self, request: Request) -> Response:
        """`POST /v1/responses`; a caller who goes away stops the run."""
        asked, as_chat = read_response(await read_json(request, dict[str, Any]))
        run, holds_text = await self._chat.begin(as_chat)
        if asked.stream:
            return stream_events(_events(run, asked, holds_text=holds_text))
        return await wait_unfinished(request, run) or answer_json(_finished(run, asked, answer_text(run.result)))


def _finished(run: ServedRun, asked: ResponseRequest, text: str) -> dict[str, Any]:
    calls = list_calls(run)
    output = [_message(run, text)] if text or not calls else []
    output += [_call(run, place, call) for place, call in enumerate(calls)]
    cut = CUT.get(tell_reason(run.result))
    usage = run.result["usage"]
    told = _response(run, asked, "incomplete" if cut else "completed", output)
    told["incomplete_details"] = {"reason": cut} if cut else None
    told["usage"] = {
        "input_tokens": usage["promptTokens"],
        "input_tokens_details": {"cached_tokens": usage["cachedTokens"]},
        "output_tokens": usage["completionTokens"],
        "output_tokens_details": {"reasoning_tokens": usage["reasoningTokens"]},
        "total_tokens": usage["totalTokens"],
    }
    return told


def _response(run: ServedRun, asked: ResponseRequest, status: str, output: list[Any]) -> dict[str, Any]:
    return {
        "id": f"resp_{run.id}",
        "object": "response",
        "created_at": int(run.created),
        "status": status,
        "model": run.target,
        "output": output,
        "error": None,
        "incomplete_details": None,
        "instructions": asked.instructions,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": asked.temperature,
        "top_p": asked.top_p,
        "tool_choice": asked.tool_choice or "auto",
        "tools": msgspec.to_builtins(asked.tools or []),
        "usage": None,
    }


def _message(run: ServedRun, text: str, status: str = "completed") -> dict[str, Any]:
    content = [_part(text)] if status == "completed" else []
    return {"id": f"msg_{run.id}", "type": "message", "role": "assistant", "status": status, "content": content}


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call(run: ServedRun, place: int, call: Mapping[str, Any]) -> dict[str, Any]:
    head = {"id": f"fc_{run.id}_{place}", "type": "function_call", "status": "completed", "call_id": call["id"]}
    return {**head, "name": call["function"]["name"], "arguments": call["function"]["arguments"]}


class _Teller:
    """Numbers the events of a stream."""

    def __init__(self) -> None:
        self._number = -1

    def __call__(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        return event_line(msgspec.json.encode({"type": kind, "sequence_number": self._number, **fields}), name=kind)


async def _events(run: ServedRun, asked: ResponseRequest, *, holds_text: bool) -> AsyncIterator[bytes]:
    """The run as events, its text in one message."""
    tell, pieces = _Teller(), list[str]()
    place = {"item_id": f"msg_{run.id}", "output_index": 0, "content_index": 0}
    try:
        for kind in ("created", "in_progress"):
            yield tell(f"response.{kind}", response=_response(run, asked, "in_progress", []))
        async for piece in follow_text(run, holds_text=holds_text):
            if piece is None:
                yield STILL_HERE
                continue
            for told in () if pieces else _begin_message(run, tell, place):
                yield told
            pieces.append(piece)
            yield tell("response.output_text.delta", **place, delta=piece, logprobs=[])
        for told in _last_events(run, asked, tell, place, pieces, holds_text=holds_text):
            yield told
    finally:
        run.cancel()  # whoever asked is gone, or has it all


def _begin_message(run: ServedRun, tell: _Teller, place: Mapping[str, Any]) -> list[bytes]:
    item = _message(run, "", "in_progress")
    return [
        tell("response.output_item.added", output_index=0, item=item),
        tell("response.content_part.added", **place, part=_part("")),
    ]


def _last_events(
    run: ServedRun,
    asked: ResponseRequest,
    tell: _Teller,
    place: Mapping[str, Any],
    pieces: list[str],
    *,
    holds_text: bool,
) -> list[bytes]:
    """What follows once the run is over: what was not told yet, and the whole response."""
    if run.cause is not None or run.status != "finished":
        error = error_body(run.cause)["error"] if run.cause is not None else CANCELLED
        failed = _response(run, asked, "failed", [])
        failed["error"] = {"code": "server_error", "message": f"{error['message']} ({error['code']})"}
        return [tell("response.failed", response=failed)]
    lines = []
    text = answer_text(run.result) if holds_text else "".join(pieces)
    told = _finished(run, asked, text)
    if not pieces and told["output"][0]["type"] == "message":
        lines += _begin_message(run, tell, place)
        lines += [tell("response.output_text.delta", **place, delta=text, logprobs=[])] if text else []
    for index, item in enumerate(told["output"]):
        if item["type"] == "message":
            lines.append(tell("response.output_text.done", **place, text=text, logprobs=[]))
            lines.append(tell("response.content_part.done", **place, part=_part(text)))
        elif item["type"] == "function_call":
            at = {"item_id": item["id"], "output_index": index}
            begun = {**item, "arguments": "", "status": "in_progress"}
            lines.append(tell("response.output_item.added", output_index=index, item=begun))
            lines.append(tell("response.function_call_arguments.delta", **at, delta=item["arguments"]))
            done = {"name": item["name"], "arguments": item["arguments"]}
            lines.append(tell("response.function_call_arguments.done", **at, **done))
        lines.append(tell("response.output_item.done", output_index=index, item=item))
    lines.append(tell(f"response.{told['status']}", response=told))
    return lines
