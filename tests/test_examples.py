"""Every example in `manifests/` does what it says, with real servers and a model server on loopback."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import left_behind, run
from servers.chat import Answer, Calls, serve_chat
from servers.listening import serve_notes
from servers.npm import NPM, needs_npm_servers

MANIFESTS = Path(__file__).parent.parent / "manifests"
EXAMPLES = sorted(path.name for path in MANIFESTS.glob("*.yaml"))
SEED = Path(__file__).with_name("seed.yaml")
KEY = "sk-test-52c0d1e9"
NOTE = (MANIFESTS / "files/notes.txt").read_text()


def test_the_examples_are_those_that_are_applied_below() -> None:
    assert EXAMPLES == ["files.yaml", "function.yaml", "quickstart.yaml", "remote.yaml"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_no_finding(name: str, tmp_path: Path) -> None:
    count = len(re.findall(r"^kind:", (MANIFESTS / name).read_text(), re.MULTILINE))

    ended = run(tmp_path, "validate", "--strict", str(MANIFESTS / name))

    assert ended == (0, f"{count} documents: 0 errors, 0 warnings\n", "")


@pytest.mark.parametrize(("place", "zone"), [("Tokyo", "Asia/Tokyo"), ("Africa/Nairobi", "Africa/Nairobi")])
def test_the_quickstart_answers_with_what_its_tool_gave(place: str, zone: str, tmp_path: Path) -> None:
    question = f"What time is it in {place}?"

    ended = run(tmp_path, "apply", str(MANIFESTS / "quickstart.yaml"), "--prompt", question, "--output", "json")

    answer = msgspec.json.decode(ended.out)
    call, result = answer["steps"][0]["toolCalls"][0], answer["steps"][0]["toolResults"][0]
    time = msgspec.json.decode(result["content"])
    assert (call["name"], call["arguments"]) == ("time_get_current_time", {"timezone": zone})
    assert answer["text"] == f"In {zone} it is {time['datetime']}, a {time['day_of_week']}."
    assert (ended.code, left_behind(tmp_path)) == (0, [])


def test_function_answers_with_what_the_file_beside_it_says(tmp_path: Path) -> None:
    question = "What do 3 cups of green tea cost?"

    ended = run(tmp_path, "apply", str(MANIFESTS / "function.yaml"), "--prompt", question, "--quiet")

    assert ended == (0, "3 cups of green tea cost 7.5.\n", "")


def read_notes(path: str) -> Any:
    """A model that reads a file with the tool it was offered, and answers with the file's text."""

    def answer(request: dict[str, Any]) -> Answer:
        last = request["messages"][-1]
        if last["role"] == "tool":
            return f"Your notes say: {msgspec.json.decode(last['content'])['content']}"
        return Calls([("fs_read_file", {"path": path})])

    return answer


@needs_npm_servers
def test_the_seed_manifest_offers_two_tools_and_answers_with_the_text_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "notes.txt").write_text(NOTE)
    manifest = tmp_path / "seed.yaml"
    manifest.write_text(SEED.read_text().replace('"/data"', f'"{folder}"'))

    with serve_chat(read_notes(str(folder / "notes.txt"))) as model:
        environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": model.base_url}
        ended = run(tmp_path, "apply", str(manifest), "--prompt", "Read my notes.", cwd=NPM, **environment)

    assert (ended.code, ended.out) == (0, f"Your notes say: {NOTE}")
    assert model.offered() == ["fs_read_file", "fs_list_directory"]
    assert model.keys == [f"Bearer {KEY}"] * 2
    assert KEY not in ended.err
    assert left_behind(tmp_path) == []


@needs_npm_servers
def test_files_reads_the_folder_beside_the_manifest(tmp_path: Path) -> None:
    with serve_chat(read_notes(str(MANIFESTS / "files/notes.txt"))) as model:
        environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": model.base_url}
        manifest = str(MANIFESTS / "files.yaml")
        ended = run(tmp_path, "apply", manifest, "--prompt", "Read my notes.", cwd=NPM, **environment)

    assert (ended.code, ended.out) == (0, f"Your notes say: {NOTE}")
    assert model.offered() == ["fs_read_file", "fs_list_directory"]
    assert left_behind(tmp_path) == []


def test_remote_calls_the_server_with_its_token(tmp_path: Path) -> None:
    question = "Search my notes for 'heron'"

    with serve_notes(KEY) as url:
        environment = {"NOTES_URL": url, "NOTES_TOKEN": KEY}
        tools = run(tmp_path, "tools", str(MANIFESTS / "remote.yaml"), "--format", "openai", **environment)
        ended = run(tmp_path, "apply", str(MANIFESTS / "remote.yaml"), "--prompt", question, **environment)

    offered = [tool["function"]["name"] for tool in msgspec.json.decode(tools.out)]
    assert offered == ["search_notes"]
    said, result = ended.out.split("The tool answered: ")
    assert said.startswith("This is the demo model")
    assert msgspec.json.decode(result) == {"result": 'One note holds "heron": the heron is back.'}
    assert KEY not in tools.err + ended.err + ended.out


def test_remote_with_a_wrong_token_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with serve_notes(KEY) as url:
        environment = {"NOTES_URL": url, "NOTES_TOKEN": "wrong-token-77"}
        ended = run(tmp_path, "apply", str(MANIFESTS / "remote.yaml"), "--prompt", "anything", "--quiet", **environment)

    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("error: NotesServer: ")
    assert "[ERR_MCP_AUTH]" in ended.err
    assert "wrong-token-77" not in ended.err


def test_what_an_example_lacks_is_told_in_one_go_before_anything_starts(tmp_path: Path) -> None:
    ended = run(tmp_path, "apply", str(MANIFESTS / "remote.yaml"), "--prompt", "anything")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err.count("VALUE_MISSING") == 2
    assert "NOTES_URL" in ended.err and "NOTES_TOKEN" in ended.err
