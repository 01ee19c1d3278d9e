"""`runtime apply --watch`: what is asked is run again whenever the set changes."""

import signal
import sys
import threading
from pathlib import Path
from queue import Queue

import psutil
from command import LIMIT, left_behind, run, started

STDIO = str(Path(__file__).parents[1] / "servers/stdio.py")
MANIFEST = """
kind: Mcp.StdioClient
metadata: {{ name: Server }}
command: "{python}"
args: ["{server}"]
---
kind: AiMcp.ToolProvider
metadata: {{ name: Tools }}
client: !ref Server
---
kind: Ai.ScriptedModel
metadata: {{ name: Model }}
turns: [{{ text: {text} }}]
---
kind: Ai.Agent
metadata: {{ name: Speaker }}
model: !ref Model
toolProviders: [{{ provider: !ref Tools }}]
"""


def write_set(folder: Path, text: str) -> None:
    (folder / "set.yaml").write_text(MANIFEST.format(python=sys.executable, server=STDIO, text=text))


def servers_in(folder: Path) -> set[int]:
    """The MCP servers of the run, without what watches over them."""
    marked = {each.pid for each in left_behind(folder)}
    found = [each.info for each in psutil.process_iter(["pid", "cmdline"])]
    return {each["pid"] for each in found if each["pid"] in marked and (each["cmdline"] or [])[1:] == [STDIO]}


def test_an_edit_is_applied_and_the_prompt_is_asked_again(tmp_path: Path) -> None:
    write_set(tmp_path, "good morning")
    lines: Queue[str] = Queue()
    with started(tmp_path, "apply", "set.yaml", "--prompt", "hi", "--watch") as process:
        assert process.stdout is not None and process.stderr is not None
        errors, out = process.stderr, process.stdout
        reader = threading.Thread(target=lambda: [lines.put(line) for line in out])
        reader.start()
        assert lines.get(timeout=LIMIT) == "good morning\n"
        while "watching" not in errors.readline():
            pass
        servers = servers_in(tmp_path)
        write_set(tmp_path, "[broken")
        while "not applied" not in errors.readline():
            pass
        write_set(tmp_path, "good evening")
        assert lines.get(timeout=LIMIT) == "good evening\n"
        assert servers_in(tmp_path) == servers
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
        reader.join()
    assert left_behind(tmp_path) == []


def test_what_cannot_be_watched_is_told(tmp_path: Path) -> None:
    write_set(tmp_path, "hi")
    ended = run(tmp_path, "apply", "set.yaml", "--watch", "--record", "tape")

    assert (ended.code, '"--watch" goes with files' in ended.err) == (2, True)
