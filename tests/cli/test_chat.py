"""`runtime chat`: on a terminal of its own, with and without prompt_toolkit, and over a pipe."""

import json
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from command import LIMIT, RUNTIME, Ended, environment, left_behind, run
from terminal import Terminal, on_terminal

SERVER = Path(__file__).parents[1] / "servers" / "stdio.py"
MANIFEST = f"""\
kind: Ai.ScriptedModel
metadata: {{ name: Model }}
rules:
  - when: {{ toolResult: "^slow$" }}
    delayMs: 600000
  - when: {{ toolResult: "." }}
    text: "the tool said ${{{{ result }}}}"
  - when: {{ user: "^echo (?P<text>.*)" }}
    toolCalls: [{{ name: echo, arguments: {{ text: "${{{{ match.text }}}}" }} }}]
  - when: {{ user: "^wait (?P<port>.*)" }}
    toolCalls: [{{ name: wait, arguments: {{ port: "${{{{ int(match.port) }}}}" }} }}]
  - when: {{ user: "fail" }}
    error: {{ message: "no \\e[2Jluck" }}
  - text: "heard ${{{{ user }}}}"
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
model: !ref Model
toolProviders: [{{ provider: !ref Tools, include: [echo, wait] }}]
"""
PLAIN = "plain"
"""A folder on PYTHONPATH whose prompt_toolkit cannot be imported, as where the extra is not installed."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.yaml").write_text(MANIFEST)
    (tmp_path / PLAIN).mkdir()
    (tmp_path / PLAIN / "prompt_toolkit.py").write_text("raise ModuleNotFoundError('not installed')\n")
    return tmp_path


def piped(folder: Path, text: str, *words: str) -> Ended:
    done = subprocess.run(
        [RUNTIME, "chat", "app.yaml", "--quiet", *words],
        env=environment(folder),
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def begin(terminal: Terminal) -> None:
    terminal.expect("Main: 2 tools. /help lists the commands, Ctrl-D ends.")
    terminal.expect(">")


def end(terminal: Terminal) -> None:
    terminal.expect(">")
    terminal.type("\x04")
    assert terminal.wait() == 0


@pytest.fixture(params=["edited", "plain"])
def more(request: pytest.FixtureRequest, folder: Path) -> dict[str, str]:
    """The environment of a terminal with prompt_toolkit, and of one without."""
    if request.param == "plain":
        return {"PYTHONPATH": str(folder / PLAIN)}
    pytest.importorskip("prompt_toolkit")
    return {"PROMPT_TOOLKIT_NO_CPR": "1"}


def test_answers_and_tool_calls_are_shown_as_they_come_until_the_input_ends(folder: Path, more: dict[str, str]) -> None:
    with on_terminal(folder, "chat", "app.yaml", NO_COLOR="1", **more) as terminal:
        begin(terminal)
        terminal.type("hello\r")
        terminal.expect("heard hello\n")
        terminal.type("echo one two\r")
        terminal.expect('[echo] { "text": "one two" }\n[echo] ')
        assert terminal.expect(", 7 B\n").endswith(" ms")
        terminal.expect("the tool said one two\n")
        end(terminal)
    assert left_behind(folder) == []


def test_an_interrupt_stops_the_turn_and_neither_session_nor_server(folder: Path, more: dict[str, str]) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        on_terminal(folder, "chat", "app.yaml", **more) as terminal,
    ):
        begin(terminal)
        terminal.type("echo slow\r")
        terminal.expect(", 4 B")  # the model is asked again, which takes it ten minutes
        terminal.type("\x03")
        terminal.expect("stopped\n")
        terminal.expect(">")
        terminal.type(f"wait {listener.getsockname()[1]}\r")
        listener.settimeout(LIMIT)
        with listener.accept()[0]:  # the call is under way
            terminal.type("\x03")
            terminal.expect("stopped\n")
        terminal.expect(">")
        terminal.type("echo still there\r")
        terminal.expect("the tool said still there\n")
        end(terminal)


def test_an_interrupt_forgets_the_line_that_is_being_typed(folder: Path, more: dict[str, str]) -> None:
    with on_terminal(folder, "chat", "app.yaml", **more) as terminal:
        begin(terminal)
        terminal.type("half")
        terminal.expect("half")
        terminal.type("\x03")
        terminal.expect(">")
        terminal.type("whole\r")
        terminal.expect("heard whole\n")
        end(terminal)


def test_another_signal_ends_the_session_and_every_process(folder: Path, more: dict[str, str]) -> None:
    with on_terminal(folder, "chat", "app.yaml", **more) as terminal:
        begin(terminal)
        terminal.process.terminate()
        assert terminal.wait() == 143
    assert left_behind(folder) == []


def test_calls_are_asked_for_within_the_conversation(folder: Path, more: dict[str, str]) -> None:
    (folder / "app.yaml").write_text(f"{MANIFEST}requireApproval: [echo]\n")

    with on_terminal(folder, "chat", "app.yaml", **more) as terminal:
        begin(terminal)
        terminal.type("echo one\r")
        terminal.expect('Main wants to call echo with\n{\n  "text": "one"\n}\n')
        terminal.expect("why not: ")
        terminal.type("n\r")
        terminal.expect('failed: the call of the tool "echo" was not approved')
        terminal.expect(">")
        terminal.type("/tools\r")
        terminal.expect("echo  (asks first) echo\nwait  wait\n")
        end(terminal)


def test_questions_may_come_over_a_pipe_and_only_answers_go_out(folder: Path) -> None:
    ended = piped(folder, "hello\n\necho two\r\nthe last one")

    assert ended == (0, "heard hello\nthe tool said two\nheard the last one\n", "")


def test_a_turn_that_fails_is_told_and_the_session_goes_on(folder: Path) -> None:
    ended = piped(folder, "fail\nhello\n")

    assert (ended.code, ended.out) == (4, "heard hello\n")
    assert ended.err == "error: Model: no \\x1b[2Jluck [ERR_MODEL_HTTP]\n"


def test_commands(folder: Path) -> None:
    ended = piped(
        folder, "one\n/reset\ntwo\n/save said.json\n/save\n/save gone/x\n/nope\n/etc/passwd\n/help\n/quit\nno"
    )

    assert ended.out == "heard one\nheard two\nheard /etc/passwd\n"
    assert ended.err.split("\n")[:5] == [
        "what was said is forgotten",
        '2 messages are in "said.json"',
        "/save needs the name of a file",
        '"gone/x" cannot be written: no such file or directory',
        "there is no command /nope; the commands are: /help, /tools, /reset, /save, /quit",
    ]
    assert "/save   /save FILE writes" in ended.err
    saved = folder / "said.json"
    assert json.loads(saved.read_text()) == [
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "heard two"},
    ]
    assert saved.stat().st_mode & 0o777 == 0o600


def test_saved_messages_are_what_an_agent_takes(folder: Path) -> None:
    piped(folder, "echo one\n/save said.json\n")
    said = (folder / "said.json").read_text()

    ended = run(folder, "apply", "app.yaml", "--quiet", "--agent", "Main", "--input", f"messages:={said}")

    assert ended == (0, "the tool said one\n", "")


def test_a_named_session_goes_on_later_and_is_its_owners_alone(folder: Path) -> None:
    piped(folder, "one\necho two\n", "--session", "work")
    piped(folder, "elsewhere\n", "--session", "other")
    ended = piped(folder, "three\n/save said.json\n", "--session", "work")

    kept = folder / ".runtime" / "sessions.db"
    said = [message.get("content", "") for message in json.loads((folder / "said.json").read_text())]
    assert ended.out == "heard three\n"
    assert said == ["one", "heard one", "echo two", "", "two", "the tool said two", "three", "heard three"]
    assert [path.stat().st_mode & 0o777 for path in (kept, kept.parent)] == [0o600, 0o700]


def test_a_session_that_is_reset_begins_anew(folder: Path) -> None:
    piped(folder, "one\n/reset\n", "--session", "work")
    piped(folder, "/save said.json\n", "--session", "work")

    assert json.loads((folder / "said.json").read_text()) == []


def test_a_session_holds_no_secret(folder: Path) -> None:
    (folder / "app.yaml").write_text(MANIFEST.replace("${{ match.text }}", "${{ secrets.token }}"))
    (folder / ".env").write_text("TOKEN=s3cr3t-77aa\n")

    ended = piped(folder, "echo one\n", "--session", "work")

    with sqlite3.connect(folder / ".runtime" / "sessions.db") as database:
        rows = database.execute("SELECT message FROM messages").fetchall()
    database.close()
    assert ended.out == "the tool said ***\n"
    assert len(rows) == 4
    assert "s3cr3t" not in str(rows)


@pytest.mark.parametrize("spoil", ["chmod", "link", "rubbish"])
def test_a_session_file_that_will_not_do_is_refused_before_anything_starts(folder: Path, spoil: str) -> None:
    piped(folder, "one\n", "--session", "work")
    kept = folder / ".runtime" / "sessions.db"
    if spoil == "chmod":
        kept.chmod(0o644)
    elif spoil == "link":
        kept.rename(folder / "elsewhere.db")
        kept.symlink_to(folder / "elsewhere.db")
    else:
        kept.write_bytes(b"rubbish" * 1000)

    ended = piped(folder, "two\n", "--session", "work")

    words = {"chmod": "can be read by others", "link": "cannot be kept in", "rubbish": "file is not a database"}
    assert (ended.code, ended.out) == (2, "")
    assert words[spoil] in ended.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--agent", "Nobody"], 2, 'hint: pick one with "--agent": Main, Second, Third'),
        ([], 2, "the set has 3 agents to talk with"),
        (["--agent", "Third"], 0, "heard hi"),
    ],
)
def test_the_agent_is_named_where_there_are_several(folder: Path, words: list[str], code: int, said: str) -> None:
    (folder / "app.yaml").write_text(
        f"""{MANIFEST}
---
kind: Ai.Agent
metadata: {{ name: Second }}
model: !ref Model
---
kind: Ai.Completion
metadata: {{ name: Third }}
model: !ref Model
"""
    )

    ended = piped(folder, "hi\n", *words)

    assert ended.code == code
    assert said in ended.out + ended.err


def test_the_agent_that_nobody_else_uses_is_meant(folder: Path) -> None:
    (folder / "app.yaml").write_text(
        f"""{MANIFEST}
---
kind: Ai.Tools
metadata: {{ name: Team }}
tools: [{{ tool: !ref Main, parameters: {{}} }}]
---
kind: Ai.Agent
metadata: {{ name: Lead }}
model: {{ kind: Ai.ScriptedModel, rules: [{{ text: I lead }}] }}
toolProviders: [{{ provider: !ref Team }}]
"""
    )

    assert piped(folder, "hi\n").out == "I lead\n"
