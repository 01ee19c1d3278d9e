"""An MCP server on pipes of which a test rewrites what shall misbehave: `python hostile.py CODE`.

CODE is Python that runs in this module before the first line is read; it may define anew `discover`, `initialize`,
`list_tools`, `call`, `other`, `take_answer`, `notified` and `ended`. The tool `seen` gives back every message so far.
"""

import json
import os
import sys
from typing import Any

MODERN = "2026-07-28"
SILENT: dict[str, Any] = {}
"""What a function returns when no answer shall be sent."""
TOOLS: list[Any] = [
    {"name": name, "description": f"The tool {name}.", "inputSchema": {"type": "object", "properties": {}}}
    for name in ("echo", "seen", "pid")
]
capabilities: dict[str, Any] = {"tools": {}}
seen: list[dict[str, Any]] = []


class Refused(Exception):
    """Raise it to answer with a JSON-RPC error: code, message, data."""


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def reply(id: Any, result: Any) -> None:
    send({"id": id, "result": result})


def notify(method: str, **params: Any) -> None:
    send({"method": method, "params": params})


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def discover(id: Any, params: dict[str, Any]) -> Any:
    raise Refused(-32601, "no such method")


def initialize(id: Any, params: dict[str, Any]) -> Any:
    info = {"name": "hostile", "version": "1"}
    return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": info}


def list_tools(id: Any, params: dict[str, Any]) -> Any:
    return {"tools": TOOLS}


def call(id: Any, name: str, arguments: dict[str, Any]) -> Any:
    return text(str(arguments.get("text", "")))


def other(id: Any, method: str, params: dict[str, Any]) -> Any:
    if method == "ping":
        return {"resultType": "complete"} if "_meta" in params else {}
    raise Refused(-32601, "no such method")


def take_answer(message: dict[str, Any]) -> None:
    pass


def notified(method: str, params: dict[str, Any]) -> None:
    pass


def ended() -> None:
    pass


def dispatch(id: Any, method: str, params: dict[str, Any]) -> Any:
    if method == "server/discover":
        return discover(id, params)
    if method == "initialize":
        return initialize(id, params)
    if method == "tools/list":
        return list_tools(id, params)
    if method == "tools/call" and params["name"] == "seen":
        return text(json.dumps(seen))
    if method == "tools/call" and params["name"] == "pid":
        return text(str(os.getpid()))
    if method == "tools/call":
        return call(id, params["name"], params.get("arguments") or {})
    return other(id, method, params)


def take(message: dict[str, Any]) -> None:
    seen.append(message)
    if "method" not in message:
        take_answer(message)
    elif "id" not in message:
        notified(message["method"], message.get("params") or {})
    else:
        try:
            result = dispatch(message["id"], message["method"], message.get("params") or {})
        except Refused as refused:
            code, words, *data = refused.args
            send(
                {"id": message["id"], "error": {"code": code, "message": words, **({"data": data[0]} if data else {})}}
            )
        else:
            if result is not SILENT:
                reply(message["id"], result)


if __name__ == "__main__":
    exec(sys.argv[1] if len(sys.argv) > 1 else "")
    for line in sys.stdin:
        take(json.loads(line))
    ended()
