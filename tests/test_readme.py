"""Every example of the README and of the pages under `docs/` is run, in the order of its page.

A block of `yaml` with a `title` is written to that file, and has no finding unless it says `broken`, is another
program's (`foreign`) or is, in a folder, part of a set; one without a title is a set of its own. A block of `python` or
`json` with a title is written too. In a block of `console` each `$` line is run, and the lines under it are its
standard output; `...` stands for anything. A block of `text` is for reading alone.
"""

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from command import end_left, environment, left_behind, run

ROOT = Path(__file__).parent.parent
REFERENCE = sorted((ROOT / "docs/reference").glob("*.md"))
GUIDES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page not in REFERENCE]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *GUIDES]
LANGUAGES = {"yaml", "json", "python", "console", "text"}
FENCE = re.compile(r"^```(?P<words>\S.*)\n(?P<body>(?:.*\n)*?)^```$", re.MULTILINE)
PORT = re.compile(r"\b2878\d\b")
"""The ports on which pages serve: each is a free one when its page is run."""
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)")


class Block(NamedTuple):
    language: str
    title: str
    is_broken: bool
    body: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    ports = free_ports(set(PORT.findall(text)))
    for found in FENCE.finditer(PORT.sub(lambda port: ports[port[0]], text)):
        language, *words = found["words"].split()
        title = next((word.removeprefix("title=") for word in words if word.startswith("title=")), "")
        yield Block(language, title, bool({"broken", "foreign"} & {*words}), found["body"])


def free_ports(names: set[str]) -> dict[str, str]:
    """A free port for each, all held until the last is found, so that no two are the same."""
    listeners = {name: socket.create_server(("127.0.0.1", 0)) for name in names}
    found = {name: str(listener.getsockname()[1]) for name, listener in listeners.items()}
    for listener in listeners.values():
        listener.close()
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "manifests", tmp_path / "manifests")
    seen = list(blocks(page))

    assert {block.language for block in seen} <= LANGUAGES
    if any("$ curl " in block.body for block in seen) and shutil.which("curl") is None:
        pytest.skip("curl is missing: its examples cannot be run")
    try:
        for block in seen:
            if block.language == "yaml":
                check_yaml(block, tmp_path)
            elif block.language in ("json", "python") and block.title:
                write(tmp_path / block.title, block.body)
            elif block.language == "console":
                check_console(block, tmp_path)
        assert left_behind(tmp_path) == []
    finally:
        end_left(tmp_path)  # of a page whose examples failed half way


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def check_yaml(block: Block, folder: Path) -> None:
    file = folder / (block.title or "untitled.yaml")
    write(file, block.body)
    if not block.is_broken and "/" not in block.title:
        ended = run(folder, "validate", "--quiet", str(file))
        assert (ended.code, ended.out) == (0, ""), block.body


def check_console(block: Block, folder: Path) -> None:
    for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        done = subprocess.run(
            ["sh", "-c", command],
            env=environment(folder),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        pattern = ".*".join(re.escape(piece) for piece in expected.split("..."))
        assert re.fullmatch(pattern, done.stdout, re.DOTALL), f"$ {command}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    "page", [*PAGES, *REFERENCE, ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"], ids=lambda page: page.name
)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    targets = [page.parent / found[1] for found in LINK.finditer(page.read_text(encoding="utf-8"))]

    assert [target for target in targets if not target.exists()] == []


def test_the_manifest_of_the_readme_is_the_quickstart() -> None:
    first = next(block for block in blocks(ROOT / "README.md") if block.language == "yaml")
    quickstart = (ROOT / "manifests/quickstart.yaml").read_text(encoding="utf-8")

    assert first.body == quickstart[quickstart.index("kind:") :]


def test_every_page_is_named_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert [page for page in PAGES[1:] if f"({page.relative_to(ROOT).as_posix()})" not in readme] == []
