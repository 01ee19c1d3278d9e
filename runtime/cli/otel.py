"""OpenTelemetry for a command: who gets its spans, by `--otel` or by the variables that OpenTelemetry defines.

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from runtime.cli.progress import PlainReport
from runtime.errors import UsageError

SIGNS = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
FLUSH_LIMIT = 2.0
"""Seconds that the last spans get to leave; a collector that is not there keeps nobody longer."""


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of commands that can be traced."""
    parser.add_argument(
        "--otel",
        action="store_true",
        help="send spans to OpenTelemetry, as its variables say, such as OTEL_EXPORTER_OTLP_ENDPOINT; where one of them"
        " is set this option is not needed; takes the extra `otel`",
    )


def is_wanted(options: Namespace) -> bool:
    """Whether spans are asked for; a command that is not traced pays for this look alone."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if options.otel:
        return True
    return os.environ.get("OTEL_TRACES_EXPORTER") != "none" and any(os.environ.get(sign) for sign in SIGNS)


@asynccontextmanager
async def traced(options: Namespace, report: PlainReport) -> AsyncIterator[None]:
    """Within the block spans are sent where the environment says; at its end those that are left.

    Raises UsageError where `--otel` asks for what is not installed; where the environment does, nothing is traced.
    """
    if not is_wanted(options):
        yield
        return
    try:
        provider = _make_provider()
    except ModuleNotFoundError as error:
        if options.otel:
            raise UsageError(
                "OpenTelemetry's SDK is not installed", hint='install the extra: pip install "manifest-runtime[otel]"'
            ) from error
        report.log("otel", "the environment asks for spans, and OpenTelemetry's SDK is not installed")
        yield
        return
    _tell_of_trouble(report)
    try:
        yield
    finally:
        await _shut_down(provider)


def _tell_of_trouble(report: PlainReport) -> None:
    """The first of what OpenTelemetry's library logs is a warning of ours; it would log each failed try."""
    import logging

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logger.removeHandler(self)
            report.warn("otel", record.getMessage())

    logger = logging.getLogger("opentelemetry")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    logger.addHandler(Handler(logging.WARNING))


def _make_provider() -> Any:
    from opentelemetry import trace
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from runtime.version import VERSION

    resource = Resource.create({"service.version": VERSION})
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "runtime"}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(_make_exporter()))
    trace.set_tracer_provider(provider)
    return provider


def _make_exporter() -> Any:
    name = os.environ.get("OTEL_TRACES_EXPORTER", "otlp")
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)
    if name != "otlp":
        raise UsageError(f'OTEL_TRACES_EXPORTER is "{name}"', hint="known here are: otlp, console, none")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


async def _shut_down(provider: Any) -> None:
    """Send what is left, off the event loop."""
    import anyio
    from anyio import to_thread

    with anyio.move_on_after(FLUSH_LIMIT, shield=True):
        await to_thread.run_sync(provider.force_flush, abandon_on_cancel=True)
