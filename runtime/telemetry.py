"""Spans of OpenTelemetry, for programs that use it (https://opentelemetry.io/docs/specs/otel/trace/api/).

Nothing of it is imported here: spans are made where the program itself has imported OpenTelemetry's API, as `--otel`
does, and where it has not a span costs a look into `sys.modules`. What stands on spans is the caller's to say:
`runtime/ai/spans.py` goes by the conventions for agents, `runtime/mcp/spans.py` by those for MCP.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Literal

from runtime.version import VERSION

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The environment variable that puts what was said and the arguments and results of tools on spans."""

_TOOL: ContextVar["Span | None"] = ContextVar("tool", default=None)
_NOWHERE = nullcontext()


class Span:
    """A span, or what stands for one where nothing is recorded: every method then does nothing."""

    __slots__ = ("_has_failed", "_span")

    def __init__(self, span: Any = None) -> None:
        self._span = span
        self._has_failed = False

    @property
    def is_traced(self) -> bool:
        """Whether it stands for a span at all, be it one that is not recorded."""
        return self._span is not None

    @property
    def is_recorded(self) -> bool:
        return self._span is not None and bool(self._span.is_recording())

    def set(self, attributes: Mapping[str, Any]) -> None:
        """Put attributes on the span: texts, numbers, booleans and lists of them."""
        if self._span is not None:
            self._span.set_attributes(attributes)

    def fail(self, kind: str) -> None:
        """What the span stands for has failed; `kind` is a code or another word of few. The first one counts."""
        if self._span is None or self._has_failed:
            return
        self._has_failed = True
        self._span.set_attribute("error.type", kind)
        self._span.set_status(sys.modules["opentelemetry.trace"].StatusCode.ERROR)

    def end(self) -> None:
        if self._span is not None:
            self._span.end()

    def around(self, *, is_tool: bool = False) -> AbstractContextManager[None]:
        """Within the block, which one task runs, new spans are below this one; `is_tool` for a tool's call."""
        return _NOWHERE if self._span is None else self._around(is_tool)

    @contextmanager
    def _around(self, is_tool: bool) -> Iterator[None]:
        token = _TOOL.set(self if is_tool else None)
        api = sys.modules["opentelemetry.trace"]
        try:
            with api.use_span(self._span, record_exception=False, set_status_on_exception=False):
                yield
        finally:
            _TOOL.reset(token)


NOTHING = Span()


def start_span(
    name: str,
    attributes: Mapping[str, Any],
    *,
    kind: Literal["internal", "client"] = "internal",
    parent: Span = NOTHING,
) -> Span:
    """A span that begins now, below `parent`, or else below what the task is within; its starter ends it."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return NOTHING
    tracer = api.get_tracer("runtime", VERSION)
    kinds = {"internal": api.SpanKind.INTERNAL, "client": api.SpanKind.CLIENT}
    context = api.set_span_in_context(parent._span) if parent._span is not None else None
    span = tracer.start_span(name, context, kinds[kind], dict(attributes))
    return Span(span) if span.get_span_context().is_valid else NOTHING


def is_tracing() -> bool:
    """Whether the program uses OpenTelemetry; without it every span is `NOTHING`."""
    return "opentelemetry.trace" in sys.modules


def tool_span() -> Span:
    """The span of the tool call that this task works on; one that records nothing outside of such calls."""
    return _TOOL.get() or NOTHING


def propagation() -> dict[str, str]:
    """What tells a server which span its work belongs to: `traceparent` and the like, by the program's propagators."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None or not api.get_current_span().get_span_context().is_valid:
        return {}
    from opentelemetry.propagate import inject

    carrier: dict[str, str] = {}
    inject(carrier)
    return carrier


def is_content_wanted() -> bool:
    """Whether spans may hold what was said, which is asked for by the variable `CONTENT` alone."""
    return os.environ.get(CONTENT, "").strip().lower() in ("true", "1", "span_only", "span_and_event")
