"""Every server process that we started: how it is spawned, and how it and all that came of it are ended.

One tracker per runtime process, because the operating system has one table of children. On Linux each server runs under
a keeper (`keeper.py`), which ends the whole tree even after SIGKILL of the runtime. Elsewhere the process group is
killed, and the descendants that a look at the process table shows; daemons that left the tree are not promised there.
"""

import asyncio
import atexit
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from runtime.mcp import keeper

MARK = "RUNTIME_SERVER_MARK"
"""Environment variable that tells a server's descendants, wherever they went, from other processes."""

KEEPER_LEAVE = keeper.POLITE_ON_SIGNAL + 1.0  # seconds a keeper may take from SIGTERM to its exit
GROUP_LEAVE = 1.0  # seconds between SIGTERM and SIGKILL of a process group that has no keeper
KILLED_LEAVE = 2.0  # seconds to wait for the exit of what was killed


class ServerProcess:
    """One server: its pipes, its exit, its end. `pid` is the keeper's where there is one."""

    def __init__(self, process: "subprocess.Popen[bytes]", mark: str, is_kept: bool) -> None:
        self.process = process
        self.mark = mark
        self.is_kept = is_kept
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._watch_exit()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def stderr(self) -> IO[bytes]:
        assert self.process.stderr is not None
        return self.process.stderr

    def _watch_exit(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            watch = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            threading.Thread(target=self._wait_in_thread, args=(loop,), daemon=True).start()
            return

        def on_exit() -> None:
            loop.remove_reader(watch)
            os.close(watch)
            self._set_exited(self.process.wait())

        loop.add_reader(watch, on_exit)

    def _wait_in_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        status = self.process.wait()
        try:
            loop.call_soon_threadsafe(self._set_exited, status)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    def _set_exited(self, status: int) -> None:
        if not self.exited.done():
            self.exited.set_result(status)

    async def wait(self, seconds: float) -> bool:
        """Wait for the exit; False when the time ran out."""
        done, _ = await asyncio.wait({self.exited}, timeout=max(0.0, seconds))
        return bool(done)

    async def end(self, grace: float) -> None:
        """Give `grace` seconds to leave by itself (its input is closed by then), then end the whole tree."""
        strays = [] if self.is_kept else list_tree(self.pid)
        try:
            if not await self.wait(grace):
                self._signal(signal.SIGTERM)
                if not await self.wait(KEEPER_LEAVE if self.is_kept else GROUP_LEAVE):
                    self._signal(signal.SIGUSR1 if self.is_kept else signal.SIGKILL)
                    await self.wait(KILLED_LEAVE)
        finally:
            self._kill_rest(strays)
            tracker.forget(self)

    def kill(self) -> None:
        """End the whole tree at once, without an event loop (the exit net)."""
        if self.is_kept:
            self._signal(signal.SIGUSR1)
        else:
            strays = list_tree(self.pid)
            self._signal(signal.SIGKILL)
            self._kill_rest(strays)

    def _kill_rest(self, strays: Sequence[int]) -> None:
        """What a keeper would have seen to: a keeper that was killed itself, or none at all."""
        if self.is_kept and self.process.returncode is not None and self.process.returncode >= 0:
            return
        if self.process.returncode is None:
            self.process.kill()
        if not self.is_kept:
            self._signal(signal.SIGKILL)
        kill_all([*strays, *list_marked(self.mark)])

    def _signal(self, number: int) -> None:
        try:
            if self.is_kept:
                self.process.send_signal(number)
            elif hasattr(os, "killpg"):
                os.killpg(self.pid, number)
            else:
                self.process.terminate()
        except (ProcessLookupError, PermissionError):
            return  # it is gone


class ProcessTracker:
    """The processes that live, from the moment of their spawn."""

    def __init__(self) -> None:
        self.processes: dict[int, ServerProcess] = {}
        self._count = 0

    def spawn(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None) -> ServerProcess:
        """Start a server with pipes for input, output and errors; raises `OSError` or `ValueError` (NUL in a word)."""
        if not self._count:
            atexit.register(self.kill_all)
        self._count += 1
        mark = f"{os.getpid()}-{self._count}"
        prefix = keeper_command()
        process = subprocess.Popen(
            [*prefix, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**env, MARK: mark},
            cwd=cwd,
            start_new_session=True,
        )
        server = ServerProcess(process, mark, bool(prefix))
        self.processes[server.pid] = server
        return server

    def forget(self, server: ServerProcess) -> None:
        self.processes.pop(server.pid, None)

    async def close_all(self, grace: float) -> None:
        """Close every server's input, then end all of them at the same time."""
        servers = list(self.processes.values())
        for server in servers:
            server.stdin.close()
        await asyncio.gather(*(server.end(grace) for server in servers))

    def kill_all(self) -> None:
        """The last net: at the exit of the interpreter."""
        for server in list(self.processes.values()):
            server.kill()
        self.processes.clear()


tracker = ProcessTracker()


def keeper_command() -> list[str]:
    """The words to put before a server's command; none where a keeper cannot work."""
    if not (sys.platform == "linux" and hasattr(os, "pidfd_open")):
        return []
    compiled = keeper.__spec__.cached if keeper.__spec__ else None  # starting from source costs half as much again
    program = compiled if compiled and os.path.exists(compiled) else keeper.__file__
    return [sys.executable, "-I", "-S", program, str(os.getpid()), "--"]


def list_tree(pid: int) -> list[int]:
    """The descendants of a process as the process table shows them; needs no rights."""
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def list_marked(mark: str) -> list[int]:
    """The processes whose environment holds the mark (Linux; elsewhere none)."""
    wanted = f"{MARK}={mark}\0".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in path.read_bytes() + b"\0":
                found.append(int(path.parent.name))
        except OSError:
            continue  # it ended, or is not ours
    return found


def kill_all(pids: Sequence[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue  # it ended meanwhile
