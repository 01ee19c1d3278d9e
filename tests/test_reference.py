"""The reference pages are those that the kinds make."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def read_pages(folder: Path) -> dict[str, str]:
    return {page.name: page.read_text(encoding="utf-8") for page in folder.iterdir()}


def test_the_pages_are_those_that_make_reference_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts/reference.py", tmp_path], check=True, timeout=60)

    assert read_pages(ROOT / "docs/reference") == read_pages(tmp_path), 'run "make reference" and commit the pages'


def test_the_pages_have_every_kind_with_its_fields_and_every_code() -> None:
    pages = read_pages(ROOT / "docs/reference")

    assert "## Mcp.StdioClient\n" in pages["Mcp.md"]
    assert "| `command` | text, not empty | required | The program: " in pages["Mcp.md"]
    assert "| `toolProviders[].prefix` * | text |  | Put before each tool's name" in pages["Ai.md"]
    assert "[Mcp.StdioClient](Mcp.md#mcpstdioclient)" in pages["README.md"]
    assert "| `REF_CYCLE` | error | " in pages["codes.md"]
