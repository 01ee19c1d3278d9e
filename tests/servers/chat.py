"""A model server on loopback: Chat Completions, streamed, answered by a function of the request."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass(frozen=True)
class Calls:
    """An answer that calls tools: (name, arguments) each."""

    calls: Sequence[tuple[str, dict[str, Any]]]


@dataclass(frozen=True)
class Refusal:
    """An answer that is an HTTP error in the provider's form."""

    status: int
    message: str


Answer = str | Calls | Refusal


@dataclass
class ChatServer:
    """Where the server is, and what it was asked."""

    base_url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def offered(self, request: int = 0) -> list[str]:
        """The names of the tools that a request offered."""
        return [tool["function"]["name"] for tool in self.requests[request].get("tools", ())]


@contextmanager
def serve_chat(answer: Callable[[dict[str, Any]], Answer]) -> Iterator[ChatServer]:
    """Run the server while the block runs; `answer` gets each request's body."""
    seen = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.requests.append(body)
            seen.keys.append(self.headers["authorization"])
            made = answer(body) if self.path == "/v1/chat/completions" else Refusal(404, f"no route {self.path}")
            if isinstance(made, Refusal):
                self._send(made.status, "application/json", json.dumps({"error": {"message": made.message}}))
            else:
                events = [*_chunks(made), "[DONE]"]
                self._send(200, "text/event-stream", "".join(f"data: {event}\n\n" for event in events))

        def _send(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing: the test reads `requests`."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        seen.base_url = f"http://127.0.0.1:{server.server_port}/v1"
        try:
            yield seen
        finally:
            server.shutdown()
            thread.join()


def _chunks(answer: str | Calls) -> Iterator[str]:
    if isinstance(answer, str):
        for word in answer.splitlines(keepends=True):
            yield _chunk({"content": word})
        yield _chunk({}, "stop")
    else:
        for index, (name, arguments) in enumerate(answer.calls):
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
            yield _chunk({"tool_calls": [call]})
        yield _chunk({}, "tool_calls")
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    yield json.dumps({"object": "chat.completion.chunk", "choices": [], "usage": usage})


def _chunk(delta: dict[str, Any], reason: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return json.dumps({"object": "chat.completion.chunk", "choices": [choice]})
