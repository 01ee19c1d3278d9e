"""The other side of the benchmark, with the standard library only: a model and an MCP server that do next to nothing.

    python fakes.py model                                       chat completions; prints its port
    python fakes.py stdio|http [--tools N] [--delay SECONDS]    an MCP server; over HTTP it prints its port

The prompt is the model's script: JSON with `turns` and `calls`. It asks for `calls` echoes in each of the turns, looks
at what came back, and says DONE.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

DONE = "all-echoes-came-back"
TEXT = "hello from the model"
BIG = "0123456789abcdef" * 1_250_000
"""20 MB."""

Answer = tuple[int, str, bytes]
"""Status, content type and body."""


def answer_chat(body: dict[str, Any]) -> Answer:
    """The next turn of the script, whole or as events, as the request asks for it."""
    messages = body["messages"]
    script = json.loads(messages[0]["content"])
    said = sum(message["role"] == "assistant" for message in messages)
    results = messages[len(messages) - script["calls"] :] if said else []
    if any(result["role"] != "tool" or result["content"] != TEXT for result in results):
        return 400, "application/json", json.dumps({"error": {"message": f"bad results: {results}"[:500]}}).encode()
    message: dict[str, Any] = {"role": "assistant", "content": DONE}
    if said < script["turns"]:
        function = {"name": "echo", "arguments": json.dumps({"text": TEXT})}
        calls = [
            {"index": place, "id": f"call_{said}_{place}", "type": "function", "function": function}
            for place in range(script["calls"])
        ]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    reason = "tool_calls" if "tool_calls" in message else "stop"
    head = {"id": "chat-1", "created": 1, "model": body["model"]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return 200, "application/json", json.dumps(whole).encode()
    choices = [
        {"index": 0, "delta": message, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": reason},
    ]
    events: list[dict[str, Any]] = [{"choices": [choice]} for choice in choices]
    events.append({"choices": [], "usage": usage})
    parts = [json.dumps({**head, "object": "chat.completion.chunk", **event}) for event in events]
    return 200, "text/event-stream", "".join(f"data: {part}\n\n" for part in [*parts, "[DONE]"]).encode()


class Server:
    """An MCP server of the handshake era: `echo`, `big`, and tools with schemas of about 2 kB that nobody calls."""

    def __init__(self, tools: int) -> None:
        echo = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        described = {"type": "string", "maxLength": 80, "description": "What this part of the call is for."}
        many = {"type": "object", "properties": {f"field_{number}": described for number in range(18)}}
        self.tools = [
            {"name": "echo", "description": "Give back the text.", "inputSchema": echo},
            {"name": "big", "description": "20 MB of text.", "inputSchema": {"type": "object"}},
            *(
                {"name": f"tool_{number}", "description": "Does its work.", "inputSchema": many}
                for number in range(tools)
            ),
        ]

    def answer(self, message: dict[str, Any]) -> bytes | None:
        """The answer to one message; None for a notification."""
        if "id" not in message or "method" not in message:
            return None
        head = {"jsonrpc": "2.0", "id": message["id"]}
        result = self._result(message["method"], message.get("params") or {})
        if result is None:
            return json.dumps({**head, "error": {"code": -32601, "message": "method not found"}}).encode()
        return json.dumps({**head, "result": result}).encode()

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        match method:
            case "initialize":
                return {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "echo", "version": "1"},
                }
            case "tools/list":
                return {"tools": self.tools}
            case "tools/call":
                text = BIG if params["name"] == "big" else params["arguments"]["text"]
                return {"content": [{"type": "text", "text": text}]}
            case "ping":
                return {}
        return None


def serve_stdio(server: Server) -> None:
    for line in sys.stdin.buffer:
        answer = server.answer(json.loads(line))
        if answer is not None:
            sys.stdout.buffer.write(answer + b"\n")
            sys.stdout.buffer.flush()


def serve_http(answer: Callable[[dict[str, Any]], Answer]) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer  # dear, and ten servers start at once

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            status, kind, body = answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing."""

    class Listener(ThreadingHTTPServer):
        request_queue_size = 256
        daemon_threads = True

    with Listener(("127.0.0.1", 0), Handler) as listener:
        print(listener.server_port, flush=True)
        listener.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("role", choices=("model", "stdio", "http"))
    parser.add_argument("--tools", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0)
    options = parser.parse_args()
    if options.role == "model":
        serve_http(answer_chat)
        return
    server = Server(options.tools)
    time.sleep(options.delay)
    if options.role == "stdio":
        serve_stdio(server)
        return

    def answer_post(message: dict[str, Any]) -> Answer:
        answer = server.answer(message)
        return (202, "application/json", b"") if answer is None else (200, "application/json", answer)

    serve_http(answer_post)


if __name__ == "__main__":
    main()
