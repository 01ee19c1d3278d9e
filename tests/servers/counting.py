"""An MCP server on pipes that counts: each call it carries out is a line of the file that is its argument.

    python counting.py LOG

`add` changes the world, `look` says that it only reads, `put` that it may be repeated; each gives how often it ran with
this `n`. Beside the log a file `kill` may say `TOOL:N:MOMENT`: at that call the runtime is killed, once, `before` it is
carried out, or `during`, when it has been and nothing was answered; at the moment `stop` it is stopped then.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil

LOG = Path(sys.argv[1])
HINTS: dict[str, dict[str, bool]] = {"add": {}, "look": {"readOnlyHint": True}, "put": {"idempotentHint": True}}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answer = make_answer(message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)


def make_answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "counting", "version": "1"}
        version = params["protocolVersion"]
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        tools = [{"name": name, "inputSchema": schema, "annotations": hints} for name, hints in HINTS.items()]
        return {"result": {"tools": tools}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": call(params)}]}}
    return {"error": {"code": -32601, "message": f"no method {method}"}}


def call(params: dict[str, Any]) -> str:
    name, n = params["name"], params["arguments"]["n"]
    kill_if(f"{name}:{n}:before")
    key = params.get("_meta", {}).get("runtime/idempotencyKey")
    with LOG.open("a") as log:
        log.write(json.dumps({"tool": name, "n": n, "key": key}) + "\n")
    kill_if(f"{name}:{n}:during")
    kill_if(f"{name}:{n}:stop", signal.SIGSTOP)
    lines = [json.loads(line) for line in LOG.read_text().splitlines()]
    return f"{name} {n} ran {sum(line['tool'] == name and line['n'] == n for line in lines)} times"


def kill_if(moment: str, number: signal.Signals = signal.SIGKILL) -> None:
    """Kill or stop the runtime that started us, if this is the moment."""
    order = LOG.with_name("kill")
    try:
        if order.read_text() != moment:
            return
        order.unlink()
    except FileNotFoundError:
        return
    for process in psutil.Process().parents():
        if "apply" in process.cmdline() or "worker" in process.cmdline():
            os.kill(process.pid, number)
    if number == signal.SIGKILL:
        os._exit(1)


main()
