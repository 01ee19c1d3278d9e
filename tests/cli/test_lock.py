"""`runtime lock`: what servers offer goes into a file, and every change of it is told."""

import json
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import Ended, left_behind, run
from servers.npm import NPM, needs_npm_servers

SERVER = Path(__file__).parent.parent / "servers" / "hostile.py"
COMMAND = f"command: '{sys.executable}', args: ['{SERVER}', \"TOOLS[:] = json.load(open('tools.json'))\"]"
NESTED = {
    "type": "object",
    "properties": {"where": {"type": "object", "properties": {"path": {"type": "string", "description": "A path."}}}},
    "required": ["where"],
}
READ: dict[str, Any] = {"name": "read", "description": "Read a file.", "inputSchema": NESTED}
WRITE: dict[str, Any] = {"name": "write", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a manifest of one client, whose server lists the tools of `tools.json`."""
    declare(tmp_path, COMMAND)
    offer(tmp_path, READ, WRITE)
    return tmp_path


def declare(folder: Path, client: str) -> None:
    (folder / "set.yaml").write_text(f"{{ kind: Mcp.StdioClient, metadata: {{ name: Files }}, {client} }}\n")


def offer(folder: Path, *tools: dict[str, Any]) -> None:
    (folder / "tools.json").write_text(json.dumps(tools))


def lock(folder: Path, *words: str) -> Ended:
    return run(folder, "lock", "set.yaml", "--quiet", *words)


def test_a_lock_holds_the_server_and_each_tool_sorted(folder: Path) -> None:
    offer(folder, WRITE, READ)

    ended = run(folder, "lock", "set.yaml")

    assert (ended.code, ended.out) == (0, "runtime.lock: 1 server, 2 tools\n")
    text = (folder / "runtime.lock").read_text()
    entry = yaml.safe_load(text)["clients"]["Files"]
    digests = [entry["tools"][name].pop("sha256") for name in ("read", "write")]
    assert all(len(digest) == 64 for digest in digests)
    assert entry["tools"] == {name: {k: v for k, v in tool.items() if k != "name"} for name, tool in both().items()}
    assert (entry["server"], entry["serverVersion"], entry["protocol"]) == ("hostile", "1", "2025-11-25")
    assert text.index("read:") < text.index("write:")
    assert stat.S_IMODE(os.stat(folder / "runtime.lock").st_mode) == 0o644
    assert sorted(path.name for path in folder.glob("*.lock*")) == ["runtime.lock"]
    assert left_behind(folder) == []


def both() -> dict[str, dict[str, Any]]:
    return {"read": READ, "write": WRITE}


def test_a_lock_is_the_same_whatever_the_order_of_the_listing(folder: Path) -> None:
    lock(folder)
    first = (folder / "runtime.lock").read_bytes()
    offer(folder, WRITE, {key: READ[key] for key in reversed(READ)})

    assert lock(folder) == (0, "", "")
    assert (folder / "runtime.lock").read_bytes() == first
    assert lock(folder, "--check") == (0, "", "")


def test_one_changed_byte_of_a_nested_description_is_told_by_tool_and_field(folder: Path) -> None:
    lock(folder)
    changed = json.loads(json.dumps(READ).replace("A path.", "A Path."))
    offer(folder, changed, WRITE)

    ended = lock(folder, "--check")

    assert ended.code == 5
    assert ended.out == (
        'Files: the tool "read": inputSchema.properties.where.properties.path.description has changed\n'
        '  - "A path."\n'
        '  + "A Path."\n'
        "runtime.lock: 1 difference\n"
    )
    told = json.loads(lock(folder, "--check", "--output", "json").out)
    assert told == {
        "ok": False,
        "lock": "runtime.lock",
        "differences": [
            {
                "client": "Files",
                "change": "changed",
                "tool": "read",
                "field": "inputSchema.properties.where.properties.path.description",
                "old": "A path.",
                "new": "A Path.",
            }
        ],
    }


def test_tools_that_came_and_went_are_told(folder: Path) -> None:
    lock(folder)
    offer(folder, READ, {"name": "move", "inputSchema": {"type": "object"}})

    ended = lock(folder, "--check")

    assert ended.code == 5
    assert ended.out.splitlines() == [
        'Files: the tool "move" is new',
        'Files: the tool "write" is gone',
        "runtime.lock: 2 differences",
    ]


def test_a_changed_definition_and_a_lost_client_are_told(folder: Path) -> None:
    lock(folder)
    text = (folder / "set.yaml").read_text()
    (folder / "set.yaml").write_text(text.replace("Files", "Papers"))
    renamed = lock(folder, "--check")
    (folder / "set.yaml").write_text(text.replace(" }\n", ", env: { MODE: x } }\n"))
    changed = lock(folder, "--check")

    assert [renamed.code, changed.code] == [5, 5]
    assert renamed.out.splitlines()[:2] == [
        "Files is in the lock and not in the set",
        "Papers is not in the lock",
    ]
    assert changed.out.splitlines()[0] == "Files: its definition in the manifest has changed"


def test_a_check_without_a_lock_starts_nothing(folder: Path) -> None:
    declare(folder, "command: touch, args: [started]")

    ended = lock(folder, "--check")

    assert (ended.code, ended.out) == (5, "")
    assert ended.err.startswith('error: there is no lock "runtime.lock" [ERR_LOCK]')
    assert not (folder / "started").exists()


def test_an_edited_lock_is_told(folder: Path) -> None:
    lock(folder)
    path = folder / "runtime.lock"
    path.write_text(path.read_text().replace("description: Read a file.", "description: Read a file now."))

    ended = lock(folder, "--check")

    assert (ended.code, ended.out.splitlines()[0]) == (5, 'Files: the tool "read" was edited in the lock')


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("version: 1", "version: 9", 3),
        ("    tools:", "<<<<<<< ours\n    tools:", 11),
        ("      read:", "     read:", 12),
    ],
)
def test_what_is_no_lock_is_told_with_its_line_and_can_be_written_anew(
    folder: Path, old: str, new: str, line: int
) -> None:
    lock(folder)
    path = folder / "runtime.lock"
    good = path.read_text()
    path.write_text(good.replace(old, new))

    ended = lock(folder, "--check")

    assert ended.code == 5
    assert ended.err.startswith(f'error: "runtime.lock" is no lock: line {line}: ')
    assert lock(folder).code == 0
    assert path.read_text() == good


def test_a_secret_that_the_server_tells_does_not_enter_the_lock(folder: Path) -> None:
    declare(
        folder,
        COMMAND + ', env: { TOKEN: "${{ secrets.token }}" }',
    )
    offer(folder, {**READ, "description": "Signed in with t0k3n-5a5a5a."})

    run(folder, "lock", "set.yaml", TOKEN="t0k3n-5a5a5a")
    first = (folder / "runtime.lock").read_text()
    offer(folder, {**READ, "description": "Signed in with other-7b7b7b."})
    ended = run(folder, "lock", "set.yaml", "--check", TOKEN="other-7b7b7b")

    assert "t0k3n" not in first
    assert "description: Signed in with ***." in first or 'description: "Signed in with ***."' in first
    assert ended.code == 0


def test_hidden_characters_are_seen_in_the_lock(folder: Path) -> None:
    offer(folder, {**READ, "description": "Read\u200b a file\u202e."})

    lock(folder)

    assert 'description: "Read\\u200b a file\\u202e."' in (folder / "runtime.lock").read_text()


def test_a_link_is_replaced_and_not_written_through(folder: Path) -> None:
    (folder / "victim").write_text("mine")
    (folder / "runtime.lock").symlink_to("victim")

    lock(folder)

    assert (folder / "victim").read_text() == "mine"
    assert not (folder / "runtime.lock").is_symlink()


def test_the_entry_of_an_optional_server_that_is_not_there_stays(folder: Path) -> None:
    text = (folder / "set.yaml").read_text().replace(" }\n", ", required: false }\n")
    (folder / "set.yaml").write_text(text)
    lock(folder)
    good = (folder / "runtime.lock").read_text()
    os.unlink(folder / "tools.json")

    ended = lock(folder)

    assert ended.code == 0
    assert (folder / "runtime.lock").read_text() == good
    assert "its entry in the lock stays as it was" in ended.err


def test_a_server_that_does_not_start_leaves_the_lock_alone(folder: Path) -> None:
    lock(folder)
    good = (folder / "runtime.lock").read_text()
    os.unlink(folder / "tools.json")

    assert lock(folder).code == 3
    assert (folder / "runtime.lock").read_text() == good


def test_an_inline_client_has_a_key_of_its_own_and_another_file_may_be_the_lock(folder: Path) -> None:
    inline = (folder / "set.yaml").read_text().strip().replace("metadata: { name: Files }, ", "")
    (folder / "set.yaml").write_text(
        f"kind: AiMcp.ToolService\nmetadata: {{ name: Tools }}\nenabled: true\nclients:\n  - {inline}\n"
    )

    ended = lock(folder, "--lock", "other.lock")

    assert ended.code == 0
    assert list(yaml.safe_load((folder / "other.lock").read_text())["clients"]) == ["Tools.clients[0]"]
    assert not (folder / "runtime.lock").exists()


@needs_npm_servers
def test_a_lock_of_three_published_servers_is_identical_when_written_twice(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    everything = NPM / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    files = NPM / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
    documents = [
        f"{{ kind: Mcp.StdioClient, metadata: {{ name: Everything }}, command: node, args: [{everything}, stdio] }}",
        f"{{ kind: Mcp.StdioClient, metadata: {{ name: Files }}, command: node, args: [{files}, ./data] }}",
        "{ kind: Mcp.StdioClient, metadata: { name: Time }, command: mcp-server-time }",
    ]
    (tmp_path / "set.yaml").write_text("\n---\n".join(documents))

    assert lock(tmp_path).code == 0
    shutil.move(tmp_path / "runtime.lock", tmp_path / "first")
    assert lock(tmp_path).code == 0

    assert (tmp_path / "runtime.lock").read_bytes() == (tmp_path / "first").read_bytes()
    assert list(yaml.safe_load((tmp_path / "first").read_text())["clients"]) == ["Everything", "Files", "Time"]
    assert lock(tmp_path, "--check").code == 0
