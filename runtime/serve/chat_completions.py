"""The OpenAI-compatible API: agents as models, their answers whole or in chunks."""

import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from runtime.serve.chat_request import ChatRequest, read_inputs
from runtime.serve.plain import wait_connected
from runtime.serve.responses import (
    STILL_HERE,
    answer_error,
    answer_json,
    error_body,
    event_line,
    read_json,
    stream_events,
)
from runtime.serve.runs import ServedRun
from runtime.serve.service import NotFound, Service

REASONS = {"length": "length", "content-filter": "content_filter", "tool-calls": "tool_calls"}


class ChatRoutes:
    """Endpoints over a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._started = int(time.time())

    async def models(self, request: Request) -> Response:
        """`GET /v1/models`: the agents."""
        return answer_json({"object": "list", "data": [self._model(name) for name in self._service.graph.agents]})

    async def model(self, request: Request) -> Response:
        """`GET /v1/models/{name}`."""
        self._agent(request.path_params["name"])
        return answer_json(self._model(request.path_params["name"]))

    async def complete(self, request: Request) -> Response:
        """`POST /v1/chat/completions`; a caller who goes away stops the run."""
        asked = await read_json(request, ChatRequest)
        agent = self._agent(asked.model)
        run = self._service.begin(asked.model, read_inputs(asked, agent.system))
        if asked.stream:
            has_usage = asked.stream_options is not None and asked.stream_options.include_usage
            return stream_events(_chunks(run, has_usage, holds_text=agent.has_output))
        if not await wait_connected(request, run):
            return Response(status_code=499)
        if run.cause is not None:
            return answer_error(run.cause, has_run=True)
        if run.status != "finished":
            return answer_json({"error": {"message": "the run was cancelled", "code": "ERR_SERVE_CANCELLED"}}, 503)
        return answer_json(_completion(run))

    def _agent(self, name: str) -> Any:
        agents = self._service.graph.agents
        if name not in agents:
            raise NotFound(f'there is no agent "{name}"', hint=f"there are: {', '.join(agents) or 'none'}")
        return agents[name]

    def _model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._started, "owned_by": "runtime"}


def _completion(run: ServedRun) -> dict[str, Any]:
    message = {"role": "assistant", "content": run.result["text"], "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": _reason(run.result), "logprobs": None}
    return {**_head(run, "chat.completion"), "choices": [choice], "usage": _usage(run.result["usage"])}


async def _chunks(run: ServedRun, has_usage: bool, *, holds_text: bool) -> AsyncIterator[bytes]:
    """The run in chunks: the text of each turn as it comes, a blank line between turns.

    With `holds_text` it comes at the end: text that is to be of a form may be refused and asked for again.
    """
    try:
        yield _chunk(run, {"role": "assistant", "content": ""})
        has_text = is_new_turn = False
        async for _, line in run.follow():
            if not line:
                yield STILL_HERE
                continue
            event = msgspec.json.decode(line)
            kind = event["type"]
            if kind == "text-delta" and not holds_text:
                yield _chunk(run, {"content": ("\n\n" if is_new_turn and has_text else "") + event["text"]})
                has_text, is_new_turn = True, False
            elif kind == "tool-result":
                is_new_turn = True
            elif kind == "finish":
                if holds_text:
                    yield _chunk(run, {"content": event["text"]})
                yield _chunk(run, {}, _reason(event))
                if has_usage:
                    last = {**_head(run, "chat.completion.chunk"), "choices": [], "usage": _usage(event["usage"])}
                    yield event_line(msgspec.json.encode(last))
        if run.cause is not None:
            yield event_line(msgspec.json.encode(error_body(run.cause)))
        elif run.status != "finished":
            error = {"message": "the run was cancelled", "type": "server_error", "code": "ERR_SERVE_CANCELLED"}
            yield event_line(msgspec.json.encode({"error": error}))
        yield event_line(b"[DONE]")
    finally:
        run.cancel()  # whoever asked is gone, or has it all


def _chunk(run: ServedRun, delta: Mapping[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
    return event_line(msgspec.json.encode({**_head(run, "chat.completion.chunk"), "choices": [choice]}))


def _head(run: ServedRun, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run.id}", "object": kind, "created": int(run.created), "model": run.target}


def _reason(end: Mapping[str, Any]) -> str:
    return REASONS.get(end["finishReason"], "stop")


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "prompt_tokens": usage["promptTokens"],
        "completion_tokens": usage["completionTokens"],
        "total_tokens": usage["totalTokens"],
        "prompt_tokens_details": {"cached_tokens": usage["cachedTokens"]},
        "completion_tokens_details": {"reasoning_tokens": usage["reasoningTokens"]},
    }
