"""An MCP server on pipes that keeps a log of what it did, which all processes share: `python logged.py FILE`.

Its tools: `note` writes `text` down, once for each idempotency key; `hold` connects to `port` on loopback, writes
`text` down when the other side closes, and answers then. Each line of the log is `tool text key attempt`, where
`attempt` is the number of calls with this key so far: a line with `attempt` above 1 changed nothing.
"""

import fcntl
import json
import socket
import sys
from pathlib import Path
from typing import Any

KEY = "runtime/idempotencyKey"


def main(log: Path) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answer = make_answer(log, message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)


def make_answer(log: Path, method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": "logged", "version": "1"}
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        return {"result": {"tools": [make_tool(name) for name in ("note", "hold")]}}
    if method == "tools/call":
        return {"result": call(log, params["name"], params["arguments"], params.get("_meta", {}).get(KEY, "-"))}
    return {"error": {"code": -32601, "message": f"no method {method}"}}


def make_tool(name: str) -> dict[str, Any]:
    properties = {"text": {"type": "string"}, "port": {"type": "integer"}}
    return {
        "name": name,
        "description": name,
        "inputSchema": {"type": "object", "properties": properties},
        "annotations": {"idempotentHint": True},
    }


def call(log: Path, name: str, arguments: dict[str, Any], key: str) -> dict[str, Any]:
    if name == "hold":
        with socket.create_connection(("127.0.0.1", arguments["port"])) as connection:
            connection.recv(1)
    with log.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        attempt = 1 + sum(line.split()[2] == key for line in file)
        file.write(f"{name} {arguments['text']} {key} {attempt}\n")
    return {"content": [{"type": "text", "text": f"noted {arguments['text']}"}]}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
