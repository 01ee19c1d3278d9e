"""An OpenTelemetry collector on loopback: takes spans over OTLP and HTTP, and keeps them."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Spans:
    """Where the collector is, and the spans that came: name, id, parent, kind, attributes, whether it failed."""

    endpoint: str = ""
    services: set[str] = field(default_factory=set)
    spans: list[dict[str, Any]] = field(default_factory=list)

    def tree(self) -> list[str]:
        """The names, each below its parent by its indent, in the order in which they began."""
        return list(self._below("", 0))

    def _below(self, parent: str, depth: int) -> Iterator[str]:
        for span in sorted(self.spans, key=lambda span: span["start"]):
            if span["parent"] == parent:
                yield "  " * depth + span["name"]
                yield from self._below(span["id"], depth + 1)

    def named(self, name: str) -> list[dict[str, Any]]:
        return [span for span in self.spans if span["name"] == name]


@contextmanager
def collect_spans() -> Iterator[Spans]:
    """Run the collector while the block runs."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    seen = Spans()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                seen.services.add(_read(resource.resource.attributes)["service.name"])
                seen.spans += [_as_data(span) for scope in resource.scope_spans for span in scope.spans]
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing: the test reads `spans`."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        seen.endpoint = f"http://127.0.0.1:{server.server_port}"
        try:
            yield seen
        finally:
            server.shutdown()
            thread.join()


def _as_data(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "trace": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex(),
        "kind": {1: "internal", 3: "client"}[span.kind],
        "start": span.start_time_unix_nano,
        "attributes": _read(span.attributes),
        "has_failed": span.status.code == 2,
    }


def _read(attributes: Any) -> dict[str, Any]:
    return {each.key: _value(each.value) for each in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, kind)
