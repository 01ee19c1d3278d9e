"""A cassette as files: what is written is read back as it was, and lies there as it should."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.cassette.beside import LONGEST_JSON, LONGEST_TEXT
from runtime.cassette.contents import CassetteError, Exchange, Recording, ToolList
from runtime.cassette.reader import CassetteReader, read_rules
from runtime.cassette.writer import check_place, write_cassette
from runtime.errors import UsageError

PNG = base64.b64encode(b"\x89PNG and more").decode()
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def call(arguments: Any, result: Any) -> Exchange:
    return Exchange({"name": "tool", "arguments": arguments}, {"result": result})


def turn(*messages: str) -> Exchange:
    shown = [{"role": "user", "content": text} for text in messages]
    tools = [{"name": "t", "description": "", "parameters": {}}]
    request = {"toolChoice": "auto", "options": {}, "tools": tools, "messages": shown}
    return Exchange(request, {"text": "yes", "finishReason": "stop"})


def write(folder: Path, *exchanges: Exchange, contract: str = "Mcp.Client", **more: Any) -> Path:
    write_cassette(str(folder), [Recording("Name", contract, exchanges=list(exchanges), **more)])
    return folder / "Name.yaml"


def read(folder: Path) -> Recording:
    return CassetteReader().read(str(folder), "Name")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(arguments=JSON, result=JSON)
def test_whatever_json_was_exchanged_is_read_back_in_its_order(arguments: Any, result: Any, tmp_path: Path) -> None:
    write(tmp_path, call(arguments, result))

    exchange = read(tmp_path).exchanges[0]

    assert repr(exchange) == repr(call(arguments, result))


@pytest.mark.parametrize(
    "value",
    [
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"uri": "a://b", "blob": PNG},
        {"data": "no base64", "mimeType": "image/png"},
        {"$binary": "name"},
        {"$literal": {"$text": "name"}},
        "long " * LONGEST_TEXT,
        [["deep"] * 100] * 800,
        "${{ secrets.no }}",
        "!ref Name",
    ],
    ids=["image", "blob", "no-base64", "mark", "marks", "long", "large", "expression", "tag"],
)
def test_what_lies_in_a_file_beside_is_read_back(value: Any, tmp_path: Path) -> None:
    write(tmp_path, call({"v": value}, [value]))

    assert read(tmp_path).exchanges == [call({"v": value}, [value])]


def test_binary_data_and_what_is_too_long_lie_in_files_beside_it(tmp_path: Path) -> None:
    large = [f"{number}" for number in range(LONGEST_JSON // 4)]
    image = {"data": PNG, "mimeType": "image/png"}
    path = write(tmp_path, call({}, image), call({}, "x" * (LONGEST_TEXT + 1)), call({}, large))

    endings = sorted(file.suffix for file in (tmp_path / "files").iterdir())
    assert endings == [".json", ".png", ".txt"]
    assert path.stat().st_size < 2000
    assert next((tmp_path / "files").glob("*.png")).read_bytes() == b"\x89PNG and more"


def test_a_conversation_is_written_once(tmp_path: Path) -> None:
    exchanges = [turn("one"), turn("one", "two"), turn("other"), turn("one", "two", "three")]

    path = write(tmp_path, *exchanges, contract="Ai.Model")

    text = path.read_text()
    assert [text.count(f"content: {word}") for word in ("one", "two", "three", "other")] == [1, 1, 1, 1]
    assert [line for line in text.splitlines() if line.startswith("continues")] == ["continues: 1", "continues: 2"]
    assert text.count("toolList:") == 1
    assert read(tmp_path).exchanges == exchanges


def test_lists_facts_and_rules_are_read_back(tmp_path: Path) -> None:
    more = {
        "facts": {"server": {"name": "s", "version": "1"}, "instructions": "Go.\nOn."},
        "ignore": ["/arguments/now"],
        "tool_lists": [ToolList(0, [{"name": "a"}]), ToolList(1, [])],
    }

    write(tmp_path, call({}, 1), **more)

    assert read(tmp_path) == Recording("Name", "Mcp.Client", exchanges=[call({}, 1)], **more)
    assert read_rules(str(tmp_path)) == {"Name": ["/arguments/now"]}


def test_an_older_cassette_goes_and_other_files_stay(tmp_path: Path) -> None:
    for key in ("Old", "Name"):
        recording = Recording(key, "Mcp.Client", exchanges=[call({}, {"data": PNG, "mimeType": "image/png"})])
        write_cassette(str(tmp_path), [recording])
    (tmp_path / "mine.yaml").write_text("kind: Mine")
    (tmp_path / "files/mine.txt").write_text("mine")

    write(tmp_path, call({}, 1))

    assert sorted(path.name for path in tmp_path.rglob("*")) == ["Name.yaml", "files", "mine.txt", "mine.yaml"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("kept")
    folder = tmp_path / "cassette"
    folder.mkdir()
    os.symlink(target, folder / "Name.yaml")

    write(folder, call({}, 1))

    assert (target.read_text(), (folder / "Name.yaml").is_symlink()) == ("kept", False)


def test_a_place_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Name.yaml").write_text("kind: Mine")
    with pytest.raises(UsageError, match="is no recording"):
        check_place(str(tmp_path), ["Name"])
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written: file exists"):
        check_place(str(tmp_path / "file"), [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("exchange: 1", "exchange: 1: 1"), r"Name\.yaml:8: "),
        (("recording: 1", "recording: 7"), "version 7, and 1 is known"),
        (("request:", "question:"), "is no recording as the runtime writes them"),
    ],
    ids=["yaml", "version", "layout"],
)
def test_a_recording_that_was_broken_is_refused(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    path = write(tmp_path, call({}, 1))
    path.write_text(path.read_text().replace(*change))

    with pytest.raises(CassetteError, match=message):
        read(tmp_path)


def test_a_file_beside_that_is_gone_is_told(tmp_path: Path) -> None:
    write(tmp_path, call({}, {"data": PNG, "mimeType": "image/png"}))
    next((tmp_path / "files").iterdir()).unlink()

    with pytest.raises(CassetteError, match="cannot be read: no such file"):
        read(tmp_path)
