"""Long runs and runs that are cut short: memory stays flat, and a cancelled run leaves nothing under way."""

import json
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from command import LIMIT, environment, left_behind, started
from servers.chat import Calls, serve_chat
from servers.provider import Answered, Provider, serve_provider

import runtime

SERVER = Path(__file__).parent / "servers" / "stdio.py"
MANIFEST = f"""\
kind: AiOpenai.OpenaiModel
metadata: {{ name: Gpt }}
model: gpt-test
apiKey: none
baseUrl: BASE_URL
---
kind: Mcp.StdioClient
metadata: {{ name: Server }}
command: {sys.executable}
args: [{SERVER}]
---
kind: AiMcp.ToolProvider
metadata: {{ name: Tools }}
client: !ref Server
---
kind: Ai.Agent
metadata: {{ name: Main }}
model: !ref Gpt
toolProviders: [{{ provider: !ref Tools, include: [echo, wait] }}]
maxSteps: 1001
history: {{ maxMessages: 20 }}
"""
TURNS = 1000
MOST_GROWTH = 4_000_000
"""Bytes from turn 200 to turn 1000: messages and trace take half, requests that stayed would take as much again."""
AT_ONCE = 0.1
"""Seconds in which a cancelled run has to end; a busy machine gets three tries."""


def test_memory_stays_flat_over_a_thousand_turns(tmp_path: Path) -> None:
    sizes: dict[int, int] = {}
    process: Any = None
    turn = 0

    def answer(request: dict[str, Any]) -> Any:
        nonlocal turn
        turn += 1
        if turn in (200, TURNS):
            sizes[turn] = psutil.Process(process.pid).memory_info().rss
        model.requests.clear()
        return "done" if turn == TURNS else Calls([("echo", {"text": str(turn)})])

    with serve_chat(answer) as model:
        (tmp_path / "app.yaml").write_text(MANIFEST.replace("BASE_URL", model.base_url))
        words = ("apply", "app.yaml", "--agent", "Main", "--prompt", "go", "--quiet")
        with started(tmp_path, *words) as process:
            out, err = process.communicate(timeout=LIMIT)

    assert (out, err) == ("done\n", "")
    assert sizes[TURNS] - sizes[200] < MOST_GROWTH
    assert left_behind(tmp_path) == []


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[tuple[Any, Provider]]:
    """The agent and the provider of its model, in the test's own process."""
    async with serve_provider() as provider:
        path = tmp_path / "app.yaml"
        path.write_text(MANIFEST.replace("BASE_URL", provider.url))
        async with runtime.open_manifests(str(path), names=["Main"], environment=environment(tmp_path)) as instances:
            yield instances["Main"], provider


def say(text: str) -> Answered:
    return _stream({"content": text}, "stop")


def call(name: str, arguments: dict[str, Any]) -> Answered:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return _stream({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}, "tool_calls")


def _stream(delta: dict[str, Any], reason: str) -> Answered:
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return Answered(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())


@asynccontextmanager
async def cancelled(agent: Any) -> AsyncIterator[Callable[[], Any]]:
    """A run that is under way in the block; what it gives cancels the run and tells how long that took."""

    async def run(scope: anyio.CancelScope, ended: anyio.Event) -> None:
        with scope:
            async with aclosing(agent.run({"prompt": "go"})) as events:
                async for _ in events:
                    pass
        ended.set()

    scope, ended = anyio.CancelScope(), anyio.Event()

    async def cancel() -> float:
        begun = time.monotonic()
        scope.cancel()
        await ended.wait()
        return time.monotonic() - begun

    async with anyio.create_task_group() as group:
        group.start_soon(run, scope, ended)
        yield cancel
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_a_cancelled_run_ends_its_model_request_at_once(live: tuple[Any, Provider]) -> None:
    agent, provider = live
    seconds = []
    for _ in range(3):
        provider.waiting, provider.closed = anyio.Event(), anyio.Event()
        provider.will(Answered(b'data: {"choices": [{"delta": {"content": "so "}}]}\n\n', hang=True))
        with anyio.fail_after(10):
            async with cancelled(agent) as cancel:
                await provider.waiting.wait()
                seconds.append(await cancel())
            await provider.closed.wait()
        provider.will(say("still here"))
        assert (await agent.invoke({"prompt": "go"}))["text"] == "still here"

    assert min(seconds) < AT_ONCE


@pytest.mark.anyio
async def test_a_cancelled_run_ends_its_tool_calls_at_once_and_their_connection_goes_on(
    live: tuple[Any, Provider],
) -> None:
    agent, provider = live
    seconds = []
    for _ in range(3):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(LIMIT)
            provider.will(call("wait", {"port": listener.getsockname()[1]}))
            with anyio.fail_after(10):
                async with cancelled(agent) as cancel:
                    connection, _ = await anyio.to_thread.run_sync(listener.accept)  # the server works on the call
                    with connection:
                        seconds.append(await cancel())
        provider.will(call("echo", {"text": "still here"}), say("done"))
        answer = await agent.invoke({"prompt": "go"})
        assert answer["steps"][0]["toolResults"][0]["content"] == "still here"

    assert min(seconds) < AT_ONCE
