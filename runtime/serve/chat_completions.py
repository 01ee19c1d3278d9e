"""The OpenAI-compatible API: agents as models, their answers whole or in chunks."""

import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from runtime.ai.contracts import Message
from runtime.serve.chat_request import ChatRequest, read_inputs, read_request, read_wishes
from runtime.serve.handed_turns import HandedTurns
from runtime.serve.openai_runs import CANCELLED, answer_text, follow_text, list_calls, tell_reason, wait_unfinished
from runtime.serve.responses import (
    STILL_HERE,
    BadRequest,
    answer_json,
    error_body,
    event_line,
    read_json,
    stream_events,
)
from runtime.serve.runs import ServedRun
from runtime.serve.service import NotFound, Service


class ChatRoutes:
    """Endpoints over a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._started = int(time.time())
        self._turns = HandedTurns()

    async def models(self, request: Request) -> Response:
        """`GET /v1/models`: the agents."""
        return answer_json({"object": "list", "data": [self._model(name) for name in self._service.graph.agents]})

    async def model(self, request: Request) -> Response:
        """`GET /v1/models/{name}`."""
        self._agent(request.path_params["name"])
        return answer_json(self._model(request.path_params["name"]))

    async def complete(self, request: Request) -> Response:
        """`POST /v1/chat/completions`; a caller who goes away stops the run."""
        asked = read_request(await read_json(request, dict[str, Any]))
        run, holds_text = await self.begin(asked)
        if asked.stream:
            has_usage = asked.stream_options is not None and asked.stream_options.include_usage
            return stream_events(_chunks(run, has_usage, holds_text=holds_text))
        return await wait_unfinished(request, run) or answer_json(_completion(run))

    async def begin(self, asked: ChatRequest) -> tuple[ServedRun, bool]:
        """Begin the run that is asked for, and whether its text is to be held until its end. Raises BadRequest."""
        agent = self._agent(asked.model)
        inputs, wishes = read_inputs(asked, agent.system, self._turns), read_wishes(asked)
        if wishes is not None:
            agent.apply(wishes)  # a refusal is to come before the head of a stream
            if wishes.tool_choice == "required" and not wishes.tools and not await agent.tools():
                raise BadRequest("there is no tool that could be called", param="tool_choice")
        given = len(inputs["messages"])

        async def keep(messages: list[Message]) -> None:
            added = messages[given + (messages[0].role == "system") :] if messages else []
            self._turns.keep(run.id, run.target, added)

        run = self._service.begin(asked.model, inputs, wishes=wishes, keep=keep if asked.tools else None)
        return run, agent.has_output or (wishes is not None and wishes.output is not None)

    def _agent(self, name: str) -> Any:
        agents = self._service.graph.agents
        if name not in agents:
            raise NotFound(f'there is no agent "{name}"', hint=f"there are: {', '.join(agents) or 'none'}")
        return agents[name]

    def _model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._started, "owned_by": "runtime"}


def _completion(run: ServedRun) -> dict[str, Any]:
    calls = list_calls(run)
    content = answer_text(run.result) or (None if calls else "")
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": tell_reason(run.result), "logprobs": None}
    return {**_head(run, "chat.completion"), "choices": [choice], "usage": _usage(run.result["usage"])}


async def _chunks(run: ServedRun, has_usage: bool, *, holds_text: bool) -> AsyncIterator[bytes]:
    """The run in chunks; with `holds_text` its text comes at the end."""
    try:
        yield _chunk(run, {"role": "assistant", "content": ""})
        async for piece in follow_text(run, holds_text=holds_text):
            yield STILL_HERE if piece is None else _chunk(run, {"content": piece})
        for line in _last_lines(run, has_usage, holds_text=holds_text):
            yield line
        yield event_line(b"[DONE]")
    finally:
        run.cancel()  # whoever asked is gone, or has it all


def _last_lines(run: ServedRun, has_usage: bool, *, holds_text: bool) -> list[bytes]:
    """What follows once the run is over; not before, as its turn can be gone on from only then."""
    if run.cause is not None:
        return [event_line(msgspec.json.encode(error_body(run.cause)))]
    if run.status != "finished":
        return [event_line(msgspec.json.encode({"error": CANCELLED}))]
    lines = []
    if holds_text:
        lines.append(_chunk(run, {"content": answer_text(run.result)}))
    calls = [{"index": place, **call} for place, call in enumerate(list_calls(run))]
    if calls:
        lines.append(_chunk(run, {"tool_calls": calls}))
    lines.append(_chunk(run, {}, tell_reason(run.result)))
    if has_usage:
        last = {**_head(run, "chat.completion.chunk"), "choices": [], "usage": _usage(run.result["usage"])}
        lines.append(event_line(msgspec.json.encode(last)))
    return lines


def _chunk(run: ServedRun, delta: Mapping[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
    return event_line(msgspec.json.encode({**_head(run, "chat.completion.chunk"), "choices": [choice]}))


def _head(run: ServedRun, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run.id}", "object": kind, "created": int(run.created), "model": run.target}


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "prompt_tokens": usage["promptTokens"],
        "completion_tokens": usage["completionTokens"],
        "total_tokens": usage["totalTokens"],
        "prompt_tokens_details": {"cached_tokens": usage["cachedTokens"]},
        "completion_tokens_details": {"reasoning_tokens": usage["reasoningTokens"]},
    }
