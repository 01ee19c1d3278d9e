"""The spans of a run, by OpenTelemetry's conventions for agents.

https://github.com/open-telemetry/semantic-conventions-genai/tree/main/docs/gen-ai: `invoke_agent` for a run, below it
`chat` (or what the model calls it) for each turn and `execute_tool` for each call. Content is on them only where it is
asked for, masked; an error's code is, and not its message.
"""

from collections.abc import Callable, Sequence
from typing import Any

from runtime.ai.content import encode, flatten
from runtime.ai.contracts import Message, Model, TurnEnd, Usage
from runtime.ai.events import ToolCalled
from runtime.telemetry import NOTHING, Span, is_content_wanted, start_span

Mask = Callable[[str], str]


class RunSpans:
    """One run's spans. Where nothing is traced they are all `NOTHING`."""

    def __init__(self, agent: str, model: Model, mask: Mask = str) -> None:
        """`mask` hides secrets in contents; a model says of itself in `span_attributes` who provides it, and so on."""
        self._agent = agent
        self._model = {"gen_ai.provider.name": "_OTHER", **getattr(model, "span_attributes", {})}
        self._mask = mask
        self.run = NOTHING

    def begin(self) -> None:
        """The run begins, below what the task that asks for its first event is within."""
        named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": self._agent}
        self.run = start_span(f"invoke_agent {self._agent}", {**self._model, **named})

    def end(self, usage: Usage) -> None:
        if self.run.is_recorded:
            self.run.set(_describe_usage(usage))
        self.run.end()

    def begin_turn(self) -> Span:
        if not self.run.is_traced:
            return NOTHING
        named = {"gen_ai.operation.name": "chat", "gen_ai.agent.name": self._agent, "gen_ai.request.stream": True}
        attributes = {**named, **self._model}
        name = f"{attributes['gen_ai.operation.name']} {attributes.get('gen_ai.request.model', '')}".strip()
        return start_span(name, attributes, kind="client", parent=self.run)

    def tell_turn(self, span: Span, asked: Sequence[Message], text: str, end: TurnEnd) -> None:
        """What came of a turn."""
        if not span.is_recorded:
            return
        span.set({**_describe_usage(end.usage), "gen_ai.response.finish_reasons": [end.finish_reason]})
        if is_content_wanted():
            answer = _as_data(Message("assistant", text, list(end.tool_calls)))
            span.set(
                {
                    "gen_ai.input.messages": self._mask(encode([_as_data(message) for message in asked])),
                    "gen_ai.output.messages": self._mask(encode([{**answer, "finish_reason": end.finish_reason}])),
                }
            )

    def begin_tool(self, call: ToolCalled) -> Span:
        if not self.run.is_traced:
            return NOTHING
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
        }
        span = start_span(f"execute_tool {call.name}", attributes, parent=self.run)
        if span.is_recorded and is_content_wanted():
            span.set({"gen_ai.tool.call.arguments": self._mask(encode(call.arguments))})
        return span

    def tell_tool(self, span: Span, content: Any) -> None:
        """What the model reads of a call."""
        if span.is_recorded and is_content_wanted():
            span.set({"gen_ai.tool.call.result": self._mask(flatten(content))})


def _describe_usage(usage: Usage) -> dict[str, Any]:
    tokens = {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens or 0,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }
    return {name: count for name, count in tokens.items() if count}


def _as_data(message: Message) -> dict[str, Any]:
    """A message in the form of the conventions."""
    text = flatten(message.content)
    if message.role == "tool":
        part = {"type": "tool_call_response", "id": message.tool_call_id, "response": text}
        return {"role": "tool", "parts": [part]}
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    parts += [
        {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return {"role": message.role, "parts": parts}
