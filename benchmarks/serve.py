"""What a service stands: many chats at once, memory over thousands of runs, and what HTTP adds to a run.

Answers over HTTP and in process are asked for in turns of `ASKED`. `overheadMs` is the difference of the medians of all
turns, `calmOverheadMs` of the least disturbed one, and `cpuMs` what the service computes for a whole answer: on a busy
machine these two say more.

    python benchmarks/serve.py [--chats 200] [--runs 5000] [--output text|json]

One service on loopback, whose agent follows a script and calls nothing. The clients share the machine with it.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

MANIFEST = """\
kind: Ai.ScriptedModel
metadata: { name: Model }
turns: [{ text: "WORDS" }]
---
kind: Ai.Agent
metadata: { name: Agent }
model: !ref Model
""".replace("WORDS", " ".join(f"word{number}" for number in range(20)))
TURNS, ASKED = 10, 50
"""Turns of so many requests, one after the other."""


def request(*, stream: bool) -> bytes:
    body = {"model": "Agent", "messages": [{"role": "user", "content": "hi"}], "stream": stream}
    data = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(data)}\r\n"
    return head.encode() + b"content-type: application/json\r\n\r\n" + data


async def chat(port: int) -> float | None:
    """Seconds to the first event of a streamed chat on a connection of its own; None where it did not come whole."""
    started = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request(stream=True))
        first, received = 0.0, b""
        while not received.endswith(b"0\r\n\r\n"):
            chunk = await reader.read(65536)
            if not chunk:
                return None
            received = received[-64:] + chunk if first else received + chunk
            if not first and b"data: " in received:
                first = time.perf_counter() - started
        return first if b"[DONE]" in received else None
    finally:
        writer.close()
        await writer.wait_closed()


async def load(port: int, chats: int, runs: int, server: psutil.Process) -> dict[str, Any]:
    """`chats` at a time until there were `runs`; memory after a fifth of them, and at the end."""
    left, firsts, lost, sizes = runs, [], 0, [0, 0]

    async def keep_asking() -> None:
        nonlocal left, lost
        while left > 0:
            left -= 1
            if left == runs * 4 // 5:
                sizes[0] = server.memory_info().rss
            first = await chat(port)
            if first is None:
                lost += 1
            else:
                firsts.append(first)

    started = time.perf_counter()
    await asyncio.gather(*(keep_asking() for _ in range(chats)))
    seconds = time.perf_counter() - started
    sizes[1] = server.memory_info().rss
    firsts.sort()
    return {
        "lost": lost,
        "chatsPerSecond": round(runs / seconds, 1),
        "firstEventP50Ms": round(firsts[len(firsts) // 2] * 1000, 1),
        "firstEventP99Ms": round(firsts[len(firsts) * 99 // 100] * 1000, 1),
        "megabytesAtAFifth": round(sizes[0] / 2**20, 1),
        "megabytesAtTheEnd": round(sizes[1] / 2**20, 1),
    }


async def ask_in_turns(port: int, path: str, server: psutil.Process) -> dict[str, float]:
    """Milliseconds of whole answers over one connection, and of the agent in this process."""
    import runtime

    over_http, in_process, cpu = [], [], 0.0
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with runtime.open_manifests(path) as live:
        for turn in range(TURNS + 1):
            before = sum(server.cpu_times()[:2])
            times = await ask_over_http(reader, writer)
            used = sum(server.cpu_times()[:2]) - before
            own = await ask_in_process(live["Agent"])
            if turn:  # the first one warms up
                cpu += used
                over_http.append(times)
                in_process.append(own)
    writer.close()
    await writer.wait_closed()
    return {
        "overHttpMs": round(statistics.median(over_http), 2),
        "inProcessMs": round(statistics.median(in_process), 2),
        "overheadMs": round(statistics.median(over_http) - statistics.median(in_process), 2),
        "calmOverheadMs": round(min(over_http) - min(in_process), 2),
        "cpuMs": round(cpu / TURNS / ASKED * 1000, 2),
    }


async def ask_over_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
    """The median of a turn."""
    times = []
    for _ in range(ASKED):
        started = time.perf_counter()
        writer.write(request(stream=False))
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(next(line for line in head.split(b"\r\n") if line.startswith(b"content-length:")).split()[1])
        await reader.readexactly(length)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


async def ask_in_process(agent: Any) -> float:
    """The same with the agent in this process."""
    times = []
    for _ in range(ASKED):
        started = time.perf_counter()
        await agent.invoke({"prompt": "hi"})
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


def measure(chats: int, runs: int) -> dict[str, Any]:
    """Start the service, ask it, and stop it."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = str(Path(folder) / "served.yaml")
        Path(manifest).write_text(MANIFEST)
        command = [str(Path(sys.executable).parent / "runtime"), "serve", manifest, "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            try:
                port = next(int(line.rpartition(":")[2]) for line in process.stderr if "listening on" in line)
                drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
                server = psutil.Process(process.pid)
                times = asyncio.run(ask_in_turns(port, manifest, server))
                found = asyncio.run(load(port, chats, runs, server))
            finally:
                process.terminate()
            process.wait()
            drain.wait()
    return {"chats": chats, "runs": runs, **found, **times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chats", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--output", choices=("text", "json"), default="text")
    options = parser.parse_args()
    found = measure(options.chats, options.runs)
    if options.output == "json":
        print(json.dumps(found))
    else:
        print("\n".join(f"{name:<20}{value:>10}" for name, value in found.items()))


if __name__ == "__main__":
    main()
