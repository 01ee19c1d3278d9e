"""An MCP server on pipes that starts fast and misbehaves on demand: `python stdio.py [OPTION]...`

    --fail CODE           write the variable TOKEN and more to stderr, and leave before a word is said
    --child PORT          start a process in a session of its own, which connects to PORT and stays
    --instructions TEXT   say this of its use
    --deaf                stay when the input ends, and ignore SIGTERM

Its tools: `echo` gives `text` back, `words` the words of its command line, `wait` connects to `port` on loopback and
never answers, `crash` ends the process.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from typing import Any

STAYING = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(1)"


def main(options: list[str]) -> None:
    if "--fail" in options:
        print("reading the settings", file=sys.stderr)
        print(f"cannot log in with {os.environ.get('TOKEN')}", file=sys.stderr)
        sys.exit(int(options[options.index("--fail") + 1]))
    if "--child" in options:
        port = options[options.index("--child") + 1]
        subprocess.Popen([sys.executable, "-c", STAYING, port], start_new_session=True)
    if "--deaf" in options:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answer = make_answer(message["method"], message.get("params") or {})
            if answer is not None:
                print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
    while "--deaf" in options:
        signal.pause()


def make_answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": "stdio", "version": "1"}
        said = {"instructions": sys.argv[sys.argv.index("--instructions") + 1]} if "--instructions" in sys.argv else {}
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info, **said}}
    if method == "tools/list":
        return {"result": {"tools": [make_tool(name) for name in ("echo", "words", "wait", "crash")]}}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    return {"error": {"code": -32601, "message": f"no method {method}"}}


def make_tool(name: str) -> dict[str, Any]:
    properties = {"text": {"type": "string"}, "port": {"type": "integer"}}
    return {"name": name, "description": name, "inputSchema": {"type": "object", "properties": properties}}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    if name == "echo":
        return {"result": {"content": [{"type": "text", "text": arguments["text"]}]}}
    if name == "words":
        return {"result": {"content": [], "structuredContent": {"words": sys.argv[1:]}}}
    if name == "wait":
        CONNECTIONS.append(socket.create_connection(("127.0.0.1", arguments["port"])))
        return None
    print(f"out of memory; the token was {os.environ.get('TOKEN')}", file=sys.stderr, flush=True)
    os._exit(9)


CONNECTIONS: list[socket.socket] = []
"""Held open: their end tells the test that this process is gone."""

if __name__ == "__main__":
    main(sys.argv[1:])
