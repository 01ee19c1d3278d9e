"""What both systems share: jobs from standard input, one a line, and what each took, on standard output."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from fakes import BIG, DONE, TEXT

Run = Callable[[str], Awaitable[str]]
"""Runs the agent with a prompt; gives its last text."""
Call = Callable[[str, dict[str, Any]], Awaitable[str]]
"""Calls a tool of the first server; gives the text of its result."""


async def work(run: Run, call: Call) -> None:
    """Do jobs until the input ends. Raises SystemExit for a wrong answer."""
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        job = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        match job:
            case {"prompt": prompt, "runs": runs}:
                answers = await asyncio.gather(*(run(prompt) for _ in range(runs)))
                is_right = all(answer == DONE for answer in answers)
            case {"tool": "echo", "times": times}:
                answers = [await call("echo", {"text": TEXT}) for _ in range(times)]
                is_right = all(answer == TEXT for answer in answers)
            case {"tool": "big"}:
                is_right = await call("big", {}) == BIG
            case _:
                raise SystemExit(f"unknown job: {line.strip()}")
        took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        if not is_right:
            raise SystemExit(f"wrong answer to {line.strip()}")
        print(json.dumps(took), flush=True)
