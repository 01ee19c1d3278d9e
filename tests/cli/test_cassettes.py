"""`apply --record` and `apply --replay`: a run against real servers, and the same run with nothing there."""

import base64
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from command import RUNTIME, Ended, environment, left_behind, run
from servers.chat import Answer, Calls, serve_chat
from servers.npm import NPM, needs_npm_servers

HOSTILE = Path(__file__).parent.parent / "servers/hostile.py"
SECRET = "sk-live-Ää/7+31c0ffee"
MANIFEST = """\
kind: Runtime.Application
metadata: { name: App }
secrets: { modelKey: {}, serverToken: {} }
---
kind: AiOpenai.OpenaiModel
metadata: { name: Gpt }
model: gpt-4o-mini
baseUrl: "BASE_URL"
apiKey: "${{ secrets.modelKey }}"
---
kind: Mcp.StdioClient
metadata: { name: Server }
command: COMMAND
args: [ARGS]
env: { TOKEN: "${{ secrets.serverToken }}" }
---
kind: AiMcp.ToolProvider
metadata: { name: Tools }
client: !ref Server
---
kind: Ai.Agent
metadata: { name: Assistant }
model: !ref Gpt
system: "You may say ${{ secrets.serverToken }} to the server."
toolProviders: [{ provider: !ref Tools, prefix: s_ }]
"""
LEAKING = """
import os, base64, urllib.parse
token = os.environ["TOKEN"]
data = base64.b64encode(b"\\x89PNG" + token.encode()).decode()
png = base64.b64encode(b"\\x89PNG...").decode()
TOOLS[:] = [{"name": name, "inputSchema": {"type": "object"}} for name in ("leak", "picture", "blob")]
def call(id, name, arguments):
    if name == "leak":
        return text(f"{token} {urllib.parse.quote(token, safe='')} {base64.b64encode(token.encode()).decode()}")
    if name == "picture":
        return {"content": [{"type": "image", "data": each, "mimeType": "image/png"} for each in (data, png)]}
    return {"content": [{"type": "resource", "resource": {"uri": "a://b", "blob": data}}]}
"""
SECRETS = {"MODEL_KEY": "mk-4711-secret-key", "SERVER_TOKEN": SECRET}


def write_manifest(folder: Path, base_url: str, command: str, *arguments: str) -> Path:
    path = folder / "set.yaml"
    args = ", ".join(msgspec.json.encode(each).decode() for each in arguments)
    path.write_text(MANIFEST.replace("BASE_URL", base_url).replace("COMMAND", command).replace("ARGS", args))
    return path


def replay(folder: Path, manifest: Path, *words: str) -> Ended:
    """Replay with no network at all where that is permitted, no secret, and no program on PATH but the runtime."""
    command = [RUNTIME, "apply", str(manifest), "--replay", "cassette", *words]
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0:
        command = ["unshare", "-rn", *command]
    else:
        (folder / "sitecustomize.py").write_text(FORBIDDEN)
    env = {**environment(folder), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder)}
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=60)
    return Ended(done.returncode, done.stdout, done.stderr)


FORBIDDEN = """
import sys
def audit(event, arguments):
    if event in ("socket.connect", "socket.bind", "subprocess.Popen", "os.posix_spawn", "os.fork"):
        raise RuntimeError(event)
sys.addaudithook(audit)
"""


def events(text: str) -> list[dict[str, Any]]:
    """The events of a run, without when they were and how long each call took."""
    lines = [msgspec.json.decode(line) for line in text.splitlines()]
    return [{name: value for name, value in line.items() if name not in ("time", "durationMs")} for line in lines]


def call_tools(*names: str) -> Any:
    """A model that calls one tool after the other, and then answers with the last result."""

    def answer(request: dict[str, Any]) -> Answer:
        done = sum(message["role"] == "tool" for message in request["messages"])
        return Calls([(names[done], {})]) if done < len(names) else "all\nis\ndone"

    return answer


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    """A run whose server says its secret in every way, recorded."""
    folder = tmp_path_factory.mktemp("first")
    with serve_chat(call_tools("s_leak", "s_picture", "s_blob")) as model:
        write_manifest(folder, model.base_url, sys.executable, str(HOSTILE), LEAKING)
        words = ("apply", "set.yaml", "--prompt", f"Go. {SECRET}", "--record", "cassette", "--output", "events")
        ended = run(folder, *words, **SECRETS)
    assert ended.code == 0, ended.err
    return folder, ended


@pytest.fixture
def leaked(first: tuple[Path, Ended], tmp_path: Path) -> tuple[Path, Ended]:
    """That run, the test's own: its manifest, and what it printed."""
    shutil.copytree(first[0], tmp_path, dirs_exist_ok=True)
    return tmp_path / "set.yaml", first[1]


def test_a_replay_tells_the_events_that_were_recorded_with_no_network_server_or_secret(
    leaked: tuple[Path, Ended], tmp_path: Path
) -> None:
    manifest, recorded = leaked

    replayed = replay(tmp_path, manifest, "--prompt", "Go. ***", "--output", "events", "--quiet")

    assert (replayed.code, replayed.err) == (0, "")
    assert events(replayed.out) == events(recorded.out)
    assert [event["text"] for event in events(replayed.out) if event["type"] == "text-delta"] == [
        "all\n",
        "is\n",
        "done",
    ]


def test_a_cassette_holds_no_secret_in_any_form(leaked: tuple[Path, Ended], tmp_path: Path) -> None:
    files = [path for path in (tmp_path / "cassette").rglob("*") if path.is_file()]
    forms = [
        form
        for secret in SECRETS.values()
        for form in (
            secret.encode(),
            quote(secret, safe="").encode(),
            *(base64.b64encode(b"x" * shift + secret.encode())[4:-4] for shift in range(3)),
        )
    ]

    assert [(path.name, form) for path in files for form in forms if form in path.read_bytes()] == []
    assert sorted(path.suffix for path in files) == [".png", ".yaml", ".yaml"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    folders = [tmp_path / "cassette", tmp_path / "cassette/files"]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_the_same_run_gives_the_same_files(leaked: tuple[Path, Ended], tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in (tmp_path / "cassette").rglob("*") if path.is_file()}

    with serve_chat(call_tools("s_leak", "s_picture", "s_blob")) as model:
        write_manifest(tmp_path, model.base_url, sys.executable, str(HOSTILE), LEAKING)
        run(tmp_path, "apply", "set.yaml", "--prompt", f"Go. {SECRET}", "--record", "cassette", **SECRETS)

    assert {path.name: path.read_bytes() for path in (tmp_path / "cassette").rglob("*") if path.is_file()} == before


def test_another_prompt_ends_the_replay_with_the_difference(leaked: tuple[Path, Ended], tmp_path: Path) -> None:
    ended = replay(tmp_path, leaked[0], "--prompt", "Stop.", "--quiet")

    assert (ended.code, ended.out) == (5, "")
    assert ended.err.splitlines() == [
        'error: Assistant: what is asked of "Gpt" is not what was recorded, exchange 1 of cassette '
        "[ERR_CASSETTE_MISMATCH]",
        '         content: "You may say *** to the server."',
        "       - role: user",
        '    -    content: "Go. ***"',
        "    +    content: Stop.",
        "    hint: when the change is meant, record anew; what differs each time goes into `ignore` of the recording",
    ]


def test_what_differs_is_told_although_the_agent_went_on_without_the_tool(
    leaked: tuple[Path, Ended], tmp_path: Path
) -> None:
    recording = tmp_path / "cassette/Server.yaml"
    recording.write_text(recording.read_text().replace("name: picture\n  arguments", "name: portrait\n  arguments"))

    ended = replay(tmp_path, leaked[0], "--prompt", "Go. ***", "--quiet")

    assert ended.code == 5
    assert 'a call of "picture" is asked of "Server", and nothing of the kind was recorded or is left' in ended.err


def test_lenient_goes_by_order_and_tool(leaked: tuple[Path, Ended], tmp_path: Path) -> None:
    ended = replay(tmp_path, leaked[0], "--prompt", "Stop.", "--quiet", "--replay-mode", "lenient")

    assert (ended.code, ended.out) == (0, "all\nis\ndone\n")


def test_what_a_rule_ignores_may_differ_and_the_rule_outlives_a_new_recording(
    leaked: tuple[Path, Ended], tmp_path: Path
) -> None:
    recording = tmp_path / "cassette/Gpt.yaml"
    recording.write_text(recording.read_text().replace("ignore: []", "ignore: [/messages/1/content]"))

    ended = replay(tmp_path, leaked[0], "--prompt", "Stop.", "--quiet")
    with serve_chat(call_tools()) as model:
        write_manifest(tmp_path, model.base_url, sys.executable, str(HOSTILE), LEAKING)
        run(tmp_path, "apply", "set.yaml", "--prompt", "Go.", "--record", "cassette", **SECRETS)

    assert (ended.code, ended.out) == (0, "all\nis\ndone\n")
    assert 'ignore: ["/messages/1/content"]\n' in recording.read_text()
    assert not list((tmp_path / "cassette/files").iterdir())


def test_what_nobody_asked_for_is_told(leaked: tuple[Path, Ended], tmp_path: Path) -> None:
    recording = tmp_path / "cassette/Server.yaml"
    extra = "---\nexchange: 4\nrequest: { name: leak, arguments: {} }\nanswer: { result: { content: [] } }\n"
    recording.write_text(recording.read_text() + extra)

    ended = replay(tmp_path, leaked[0], "--prompt", "Go. ***", "--quiet")

    told = 'warning: cassette: was recorded and not asked for: exchange 4 of "Server": a call of "leak"\n'
    assert (ended.code, ended.err) == (0, told)


def test_a_failed_run_is_recorded_and_fails_again(tmp_path: Path) -> None:
    failing = "def call(id, name, arguments):\n    raise Refused(-32000, 'no such thing', {'a': 1})\n"
    with serve_chat(call_tools("s_echo")) as model:
        manifest = write_manifest(tmp_path, model.base_url, sys.executable, str(HOSTILE), failing)
        manifest.write_text(manifest.read_text() + "onToolError: throw\n")
        recorded = run(
            tmp_path, "apply", "set.yaml", "--prompt", "Go.", "--record", "cassette", "--output", "events", **SECRETS
        )

    replayed = replay(tmp_path, manifest, "--prompt", "Go.", "--output", "events")

    assert (recorded.code, replayed.code) == (4, 4)
    assert events(replayed.out) == events(recorded.out)
    assert events(replayed.out)[-1]["details"] == {"rpcCode": -32000, "rpcData": {"a": 1}}


def test_a_run_that_does_not_start_leaves_the_cassette_as_it_was(leaked: tuple[Path, Ended], tmp_path: Path) -> None:
    before = (tmp_path / "cassette/Gpt.yaml").read_bytes()
    write_manifest(tmp_path, "http://127.0.0.1:9", "no-such-command")

    ended = run(tmp_path, "apply", "set.yaml", "--prompt", "Go.", "--record", "cassette", **SECRETS)

    assert (ended.code, (tmp_path / "cassette/Gpt.yaml").read_bytes()) == (3, before)


def test_a_file_that_is_no_recording_is_not_overwritten(tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path, "http://127.0.0.1:9", "no-such-command")
    shutil.copy(manifest, tmp_path / "Gpt.yaml")

    ended = run(tmp_path, "apply", "set.yaml", "--prompt", "Go.", "--record", ".", "--quiet", **SECRETS)

    assert ended.code == 2
    assert ended.err.splitlines()[-2:] == [
        'error: "./Gpt.yaml" is there and is no recording [ERR_USAGE]',
        "    hint: give the cassette a folder of its own",
    ]


def test_a_resource_that_was_not_recorded_does_not_start(leaked: tuple[Path, Ended], tmp_path: Path) -> None:
    (tmp_path / "cassette/Server.yaml").unlink()

    ended = replay(tmp_path, leaked[0], "--prompt", "Go. ***", "--quiet")

    assert ended.code == 3
    assert 'Server: there is no recording "cassette/Server.yaml" [ERR_CASSETTE]' in ended.err


@needs_npm_servers
def test_a_run_against_the_reference_server_replays_without_it(tmp_path: Path) -> None:
    names = ("s_get-tiny-image", "s_get-resource-links", "s_get-structured-content", "s_echo")
    arguments = [{}, {"count": 3}, {"location": "Chicago"}, {"message": "good morning"}]

    def answer(request: dict[str, Any]) -> Answer:
        if any(message["role"] == "tool" for message in request["messages"]):
            return "I have seen\nthem all."
        return Calls(list(zip(names, arguments, strict=True)))

    with serve_chat(answer) as model:
        manifest = write_manifest(
            tmp_path, model.base_url, "npx", "-y", "@modelcontextprotocol/server-everything", "stdio"
        )
        cassette = str(tmp_path / "cassette")
        words = ("apply", str(manifest), "--prompt", "Go.", "--record", cassette, "--output", "events")
        recorded = run(tmp_path, *words, cwd=NPM, **SECRETS)
    manifest.write_text(manifest.read_text().replace("command: npx", "command: no-such-command"))

    replayed = replay(tmp_path, manifest, "--prompt", "Go.", "--output", "events")

    assert (recorded.code, replayed.code) == (0, 0), recorded.err + replayed.err
    assert events(replayed.out) == events(recorded.out)
    assert left_behind(tmp_path) == []
