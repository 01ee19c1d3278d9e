"""However a run ends, no process of it is left, and its exit code and last words tell why."""

import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from command import LIMIT, finish, left_behind, run, started

SERVER = Path(__file__).parent / "servers" / "stdio.py"
TOKEN = "tok-4f9a1c77e2"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Where a server connects to when it is where the test wants it; the connection's end is the server's."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(LIMIT)
        yield listening


def write_manifest(folder: Path, *options: str, calls: str = "", grace: int = 3000, on_error: str = "feedback") -> str:
    """A set with the server of `servers/stdio.py` and an agent whose model makes `calls`, then says `done`."""
    words = ", ".join(f'"{word}"' for word in (str(SERVER), *options))
    turns = [f"{{ toolCalls: [{calls}] }}"] if calls else []
    path = folder / "manifest.yaml"
    path.write_text(
        f"""
kind: Mcp.StdioClient
metadata: {{ name: Server }}
command: {sys.executable}
args: [{words}]
env: {{ TOKEN: "${{{{ secrets.token }}}}" }}
shutdownGraceMs: {grace}
---
kind: AiMcp.ToolProvider
metadata: {{ name: Tools }}
client: !ref Server
---
kind: Ai.ScriptedModel
metadata: {{ name: Script }}
turns: [{", ".join([*turns, "{ text: done }"])}]
---
kind: Ai.Agent
metadata: {{ name: Assistant }}
model: !ref Script
toolProviders: [{{ provider: !ref Tools }}]
onToolError: {on_error}
"""
    )
    return str(path)


def wait_call(listener: socket.socket) -> str:
    return f"{{ name: wait, arguments: {{ port: {listener.getsockname()[1]} }} }}"


def await_end(connection: socket.socket) -> None:
    """Wait until the process at the other end is gone."""
    connection.settimeout(LIMIT)
    with suppress(ConnectionResetError):
        assert connection.recv(1) == b""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_the_middle_of_a_call_stops_everything(
    tmp_path: Path, listener: socket.socket, number: signal.Signals, code: int
) -> None:
    manifest = write_manifest(tmp_path, calls=wait_call(listener))

    with started(tmp_path, "apply", manifest, "--prompt", "go", "--quiet", TOKEN=TOKEN) as process:
        connection, _ = listener.accept()
        with connection:
            assert len(left_behind(tmp_path)) >= 2
            process.send_signal(number)
            ended = finish(process)

    assert (ended, left_behind(tmp_path)) == ((code, "", ""), [])


def test_a_signal_stops_what_a_server_started_in_a_session_of_its_own(tmp_path: Path, listener: socket.socket) -> None:
    port = str(listener.getsockname()[1])
    manifest = write_manifest(tmp_path, "--child", port, calls=wait_call(listener))

    with started(tmp_path, "apply", manifest, "--prompt", "go", "--quiet", TOKEN=TOKEN) as process:
        first, _ = listener.accept()
        second, _ = listener.accept()
        with first, second:
            process.send_signal(signal.SIGTERM)
            ended = finish(process)

    assert (ended, left_behind(tmp_path)) == ((143, "", ""), [])


def test_a_second_signal_does_not_wait_for_a_server_that_stays(tmp_path: Path, listener: socket.socket) -> None:
    manifest = write_manifest(tmp_path, "--deaf", calls=wait_call(listener), grace=600_000)

    with started(tmp_path, "apply", manifest, "--prompt", "go", "--quiet", TOKEN=TOKEN) as process:
        connection, _ = listener.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
            ended = finish(process)
            await_end(connection)

    assert ended.code in (130, 143)
    psutil.wait_procs(left_behind(tmp_path), timeout=LIMIT)
    assert left_behind(tmp_path) == []


def test_servers_do_not_outlive_a_runtime_that_was_killed(tmp_path: Path, listener: socket.socket) -> None:
    port = str(listener.getsockname()[1])
    manifest = write_manifest(tmp_path, "--deaf", "--child", port, calls=wait_call(listener))

    with started(tmp_path, "apply", manifest, "--prompt", "go", "--quiet", TOKEN=TOKEN) as process:
        first, _ = listener.accept()
        second, _ = listener.accept()
        with first, second:
            process.kill()
            await_end(first)
            await_end(second)
        psutil.wait_procs(left_behind(tmp_path), timeout=LIMIT)
        left = left_behind(tmp_path)

    assert left == []


def test_a_server_that_does_not_start_is_named_with_its_code_and_last_words_and_no_secret(tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path, "--fail", "7")

    ended = run(tmp_path, "apply", manifest, "--prompt", "go", "--quiet", TOKEN=TOKEN)

    assert ended == (
        3,
        "",
        f'error: Server: the server "{sys.executable}" exited with status 7; the end of its stderr: '
        "reading the settings | cannot log in with *** [ERR_MCP_TRANSPORT]\n",
    )
    assert left_behind(tmp_path) == []


def test_a_server_that_crashes_in_a_call_is_a_tool_error_that_the_model_sees(tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path, calls="{ name: crash }")

    ended = run(tmp_path, "apply", manifest, "--prompt", "go", "--output", "json", TOKEN=TOKEN)

    assert ended.code == 0
    assert '"text": "done"' in ended.out
    assert "***" in ended.out
    assert TOKEN not in ended.out + ended.err
    assert left_behind(tmp_path) == []


def test_a_server_that_crashes_in_a_call_ends_the_run_that_throws(tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path, calls="{ name: crash }", on_error="throw")

    ended = run(tmp_path, "apply", manifest, "--prompt", "go", "--quiet", TOKEN=TOKEN)

    assert ended == (
        4,
        "",
        f'error: Server: the server "{sys.executable}" exited with status 9; '
        "the end of its stderr: out of memory; the token was *** [ERR_MCP_TRANSPORT]\n",
    )
    assert left_behind(tmp_path) == []
