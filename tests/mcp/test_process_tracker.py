"""No process of a server is left, however server and runtime end."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import psutil
import pytest

from runtime.mcp import process_tracker
from runtime.mcp.process_tracker import MARK, tracker

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
LIMIT = 15.0

DEAF = "import signal\nfor number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)\n"
STAY = "import signal, socket, sys; connection = socket.create_connection(('127.0.0.1', PORT))\n"
"""Connects to the test, which sees by the end of the connection that the process is gone."""
WAIT = "while True: signal.pause()\n"

POLITE = STAY + "sys.stdin.read()\n"
DEAF_SERVER = DEAF + STAY + WAIT
CHILDREN = """
import os, sys
for _ in range(2):
    if os.fork() == 0:
        exec(DEAF_SERVER)
sys.stdin.read()
os._exit(0)
"""
DAEMON = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        exec(DEAF_SERVER)
    os._exit(0)
os.wait()
sys.stdin.read()
os._exit(0)
"""
STOPPED = STAY + "import os; os.kill(os.getpid(), signal.SIGSTOP)\n"

SERVERS = {"polite": (POLITE, 1), "deaf": (DEAF_SERVER, 1), "children": (CHILDREN, 2), "daemon": (DAEMON, 1)}


@contextmanager
def listening() -> Iterator[tuple[socket.socket, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(LIMIT)
        yield listener, listener.getsockname()[1]


def program(code: str, port: int) -> list[str]:
    return [sys.executable, "-c", f"PORT = {port}\nDEAF_SERVER = {DEAF_SERVER!r}\n{code}"]


def accept(listener: socket.socket, count: int) -> list[socket.socket]:
    """The connections of this many processes."""
    return [listener.accept()[0] for _ in range(count)]


def wait_for_end(connections: list[socket.socket]) -> None:
    """Each connection ends, because its process did."""
    for connection in connections:
        connection.settimeout(LIMIT)
        with suppress(ConnectionResetError):  # gone with something unread
            assert connection.recv(1) == b""
        connection.close()


@pytest.mark.parametrize("kind", [*SERVERS, "stopped"])
async def test_the_end_of_a_server_is_the_end_of_all_that_it_started(kind):
    code, count = SERVERS.get(kind, (STOPPED, 1))
    with listening() as (listener, port):
        server = tracker.spawn(program(code, port), env=os.environ, cwd=None)
        connections = await anyio.to_thread.run_sync(accept, listener, count)
        server.stdin.close()
        with anyio.fail_after(LIMIT):
            await server.end(0.2)

        assert server.process.returncode is not None
        assert server.pid not in tracker.processes
        await anyio.to_thread.run_sync(wait_for_end, connections)
    for pipe in (server.stdout, server.stderr):
        pipe.close()


RUNTIME = """
import asyncio, os, sys
from runtime.mcp.process_tracker import tracker
async def main():
    server = tracker.spawn(sys.argv[1:], env=os.environ, cwd=None)
    print("started", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_the_runtime_is_killed(kind, number):
    code, count = SERVERS[kind]
    with listening() as (listener, port):
        command = [sys.executable, "-c", RUNTIME, *program(code, port)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as runtime:
            connections = accept(listener, count)
            runtime.send_signal(number)
            runtime.wait(LIMIT)
            wait_for_end(connections)


LEAVING = RUNTIME.replace("await asyncio.Event().wait()", "sys.stdin.readline()")


@pytest.mark.parametrize("kind", SERVERS)
def test_nothing_is_left_when_the_runtime_leaves_without_a_word(kind):
    code, count = SERVERS[kind]
    with listening() as (listener, port):
        command = [sys.executable, "-c", LEAVING, *program(code, port)]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runtime:
            connections = accept(listener, count)
            runtime.stdin.close()
            assert runtime.wait(LIMIT) == 0
            wait_for_end(connections)


async def test_a_keeper_that_is_killed_takes_its_server_along_and_the_mark_finds_the_rest():
    with listening() as (listener, port):
        server = tracker.spawn(program(CHILDREN, port), env=os.environ, cwd=None)
        connections = await anyio.to_thread.run_sync(accept, listener, 2)
        os.kill(server.pid, signal.SIGKILL)
        with anyio.fail_after(LIMIT):
            await server.end(5.0)

        await anyio.to_thread.run_sync(wait_for_end, connections)
    assert server.process.returncode == -signal.SIGKILL
    for pipe in (server.stdin, server.stdout, server.stderr):
        pipe.close()


@pytest.mark.parametrize("kind", ["polite", "deaf", "children"])
async def test_without_a_keeper_the_group_and_the_tree_are_ended(kind, monkeypatch):
    monkeypatch.setattr(process_tracker, "keeper_command", list)
    monkeypatch.setattr(process_tracker, "GROUP_LEAVE", 0.2)
    code, count = SERVERS[kind]
    with listening() as (listener, port):
        server = tracker.spawn(program(code, port), env=os.environ, cwd=None)
        connections = await anyio.to_thread.run_sync(accept, listener, count)
        server.stdin.close()
        with anyio.fail_after(LIMIT):
            await server.end(0.2)

        assert not server.is_kept
        await anyio.to_thread.run_sync(wait_for_end, connections)
    for pipe in (server.stdout, server.stderr):
        pipe.close()


async def test_close_all_ends_every_server_at_the_same_time():
    with listening() as (listener, port):
        servers = [tracker.spawn(program(DEAF_SERVER, port), env=os.environ, cwd=None) for _ in range(3)]
        connections = await anyio.to_thread.run_sync(accept, listener, 3)
        with anyio.fail_after(3.0):  # each alone takes over a second
            await tracker.close_all(0.1)

        await anyio.to_thread.run_sync(wait_for_end, connections)
    assert tracker.processes == {}
    for server in servers:
        server.stdout.close()
        server.stderr.close()


@pytest.mark.parametrize("code, status", [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 128 + 9)])
async def test_the_exit_status_is_the_servers(code, status):
    server = tracker.spawn([sys.executable, "-c", code], env=os.environ, cwd=None)
    with anyio.fail_after(LIMIT):
        assert await server.exited == status
        await server.end(0.0)
    for pipe in (server.stdin, server.stdout, server.stderr):
        pipe.close()


async def test_a_server_gets_three_descriptors_its_environment_and_the_mark():
    code = "import os; print(sorted(os.listdir('/proc/self/fd'))[:4], dict(os.environ))"
    server = tracker.spawn([sys.executable, "-S", "-E", "-c", code], env={"A": "1"}, cwd=None)
    with anyio.fail_after(LIMIT):
        await server.exited
        await server.end(0.0)
    descriptors, _, environment = server.stdout.read().decode().partition("] ")

    assert descriptors == "['0', '1', '2', '3'"  # 3 is the listing's own
    assert eval(environment) == {"A": "1", MARK: server.mark, "LC_CTYPE": "C.UTF-8"}
    for pipe in (server.stdin, server.stdout, server.stderr):
        pipe.close()


def test_the_keeper_is_the_parent_of_what_a_daemon_became():
    with listening() as (listener, port):
        command = [sys.executable, "-c", RUNTIME, *program(DAEMON, port)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as runtime:
            connections = accept(listener, 1)
            [kept] = psutil.Process(runtime.pid).children()
            names = {child.pid for child in kept.children(recursive=True)}
            runtime.kill()
            wait_for_end(connections)

    assert len(names) == 2
