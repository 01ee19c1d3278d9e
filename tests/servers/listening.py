"""Servers on loopback as processes of their own: each prints `port N` when it listens."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread

from servers.npm import NPM

LIMIT = 30.0
"""Seconds after which a server that has not said its port has failed the test."""


@contextmanager
def serve(*command: str, **env: str) -> Iterator[int]:
    """Run a server while the block runs, and give its port; keywords are environment variables beside PATH."""
    ports: Queue[int | None] = Queue()
    with subprocess.Popen(
        command, env={"PATH": "/usr/local/bin:/usr/bin:/bin", **env}, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        reader = Thread(target=_read_ports, args=(server.stdout, ports))
        reader.start()
        try:
            port = ports.get(timeout=LIMIT)
            assert port is not None, f"{command} ended before it listened"
            yield port
        finally:
            server.kill()
            reader.join()


def _read_ports(lines: Iterable[bytes], ports: "Queue[int | None]") -> None:
    for line in lines:
        if line.startswith(b"port "):
            ports.put(int(line.split()[1]))
    ports.put(None)


@contextmanager
def serve_notes(token: str) -> Iterator[str]:
    """The official SDK's server of `notes.py`, behind a token; gives its URL."""
    with serve(sys.executable, str(Path(__file__).with_name("notes.py")), token) as port:
        yield f"http://127.0.0.1:{port}/mcp"


@contextmanager
def serve_everything() -> Iterator[str]:
    """npm's `server-everything` over Streamable HTTP; gives its URL."""
    program = NPM / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    loopback = str(NPM / "loopback.cjs")
    with serve("node", "--require", loopback, str(program), "streamableHttp", PORT="0") as port:
        yield f"http://127.0.0.1:{port}/mcp"
