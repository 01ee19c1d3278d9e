"""`runtime import`: the manifest on standard output or in a new file, the notes on standard error."""

import json
import sys
from pathlib import Path

from command import left_behind, run

SECRET = "sk-Proj0123456789abcdefghijkl"


def write(folder: Path, **servers: object) -> None:
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}, indent=1))


def test_the_manifest_goes_to_standard_output_and_notes_to_standard_error(tmp_path: Path) -> None:
    write(tmp_path, time={"command": "mcp-server-time", "env": {"TIME_API_KEY": SECRET}})

    ended = run(tmp_path, "import", "mcp.json")

    assert ended.code == 0
    assert ended.out.startswith('# Imported from mcp.json by "runtime import".\n')
    assert ended.err == (
        'mcp.json:6: the value of TIME_API_KEY was left out: set TIME_API_KEY in the environment or in ".env"\n'
        'needed in the environment, or in ".env": TIME_API_KEY\n'
    )
    assert SECRET not in ended.out


def test_what_is_imported_can_be_applied(tmp_path: Path) -> None:
    write(tmp_path, time={"command": "mcp-server-time"})

    made = run(tmp_path, "import", "mcp.json", "--output", "made.yaml")
    validated = run(tmp_path, "validate", "--strict", "made.yaml")
    answered = run(tmp_path, "apply", "made.yaml", "--prompt", "get current time of 'Asia/Tokyo'")

    assert made == (0, "", "")
    assert validated == (0, "4 documents: 0 errors, 0 warnings\n", "")
    assert (answered.code, "Asia/Tokyo" in answered.out) == (0, True)
    assert left_behind(tmp_path) == []


def test_a_secret_gets_to_the_server_from_the_environment(tmp_path: Path) -> None:
    program = "import os, sys; open('seen', 'w').write(os.environ.get('API_KEY', '')); sys.exit(1)"
    write(tmp_path, a={"command": sys.executable, "args": ["-c", program], "env": {"API_KEY": SECRET}})

    run(tmp_path, "import", "mcp.json", "--output", "made.yaml")
    run(tmp_path, "apply", "made.yaml", "--prompt", "anything", API_KEY="from-outside")

    assert (tmp_path / "seen").read_text() == "from-outside"


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    write(tmp_path, a={"command": "x"})
    (tmp_path / "made.yaml").write_text("mine\n")

    ended = run(tmp_path, "import", "mcp.json", "--output", "made.yaml")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith('error: "made.yaml" is there already [ERR_USAGE]\n')
    assert (tmp_path / "made.yaml").read_text() == "mine\n"


def test_a_folder_and_an_unknown_format_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: 1\n")

    folder, unknown = run(tmp_path, "import", "."), run(tmp_path, "import", "a.yaml")

    assert (folder.code, folder.err) == (2, 'error: "." is a folder: name the file [ERR_USAGE]\n')
    assert unknown.code == 2
    assert unknown.err.startswith(
        'error: "a.yaml" is of no format that is known here [ERR_USAGE]\n    hint: the formats'
    )
