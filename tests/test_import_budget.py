"""What a command imports is most of what it costs: the heavy packages stay out of what does not need them."""

import subprocess
import sys
from pathlib import Path

import pytest
from command import environment

ROOT = Path(__file__).parent.parent
SEED = str(Path(__file__).with_name("seed.yaml"))
HEAVY = {"mcp", "pydantic", "httpx2", "jsonschema", "asyncio", "anyio", "rich", "importlib.metadata"}
AVOIDED = {"typing_extensions", "inspect", "pathlib", "shutil"}
"""What costs a third to a whole of a bare interpreter's start, and came in by packages that do not need it."""

RUN = """
import os, sys
from runtime.cli.main import main
code = main(sys.argv[1:])
sys.stdout.flush()
print(code, *sys.modules, file=sys.stderr)
sys.stderr.flush()
os._exit(0)
"""


def imported(folder: Path, program: str, *arguments: str) -> tuple[int, set[str]]:
    """The code that a program gives in an interpreter of its own, and the modules that it imported."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment(folder),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    code, *modules = done.stderr.splitlines()[-1].split()
    return int(code), set(modules)


@pytest.mark.parametrize("output", ["text", "json"])
def test_validate_imports_nothing_heavy_while_nothing_is_wrong(output: str, tmp_path: Path) -> None:
    code, modules = imported(tmp_path, RUN, "validate", SEED, "--output", output)

    assert (code, modules & (HEAVY | AVOIDED | {"cel_expr_python"})) == (0, set())
    assert "kinds.ai.agent" in modules


def test_only_an_expression_that_is_more_than_a_name_loads_the_library_for_it(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(
        "kind: AiOpenai.OpenaiModel\nmetadata: { name: A }\nmodel: x\napiKey: ${{ secrets.a + secrets.b }}\n"
    )

    code, modules = imported(tmp_path, RUN, "validate", "set.yaml")

    assert (code, {"cel_expr_python"} - modules) == (0, set())


def test_a_run_reaches_its_model_without_what_a_browser_needs(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(
        "kind: AiOpenai.OpenaiModel\nmetadata: { name: Gpt }\nmodel: x\napiKey: ''\nbaseUrl: http://127.0.0.1:9\n"
        "maxRetries: 0\n---\nkind: Ai.Agent\nmetadata: { name: Asker }\nmodel: !ref Gpt\n"
    )
    code, modules = imported(tmp_path, RUN, "apply", "set.yaml", "--prompt", "hi")

    unwanted = {"httpx2", "urllib.request", "importlib.metadata", "email", "zipfile", "mcp", "jsonschema"}
    assert (code, modules & unwanted) == (4, set())
    assert "httpcore2" in modules


def test_help_imports_neither_the_manifest_reader_nor_the_kinds(tmp_path: Path) -> None:
    code, modules = imported(tmp_path, RUN, "--help")

    unwanted = HEAVY | AVOIDED | {"yaml", "msgspec", "argparse", "typing", "runtime.kind", "kinds"}
    assert (code, modules & unwanted) == (0, set())


def test_importing_every_kind_imports_nothing_heavy(tmp_path: Path) -> None:
    files = sorted((ROOT / "kinds").glob("*/*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files if "@kind(" in file.read_text()]
    program = "import sys\n" + "".join(f"import {name}\n" for name in names) + "print(0, *sys.modules, file=sys.stderr)"

    code, modules = imported(tmp_path, program)

    assert (code, modules & HEAVY) == (0, set())
    assert len(names) >= 7


def test_packages_imported_quickly_are_as_after_a_plain_import(tmp_path: Path) -> None:
    program = """
import sys
from runtime.cli.quick_imports import ALL_BUT_ALLOWED, REFUSED, import_msgspec, import_yaml
import_msgspec()
import_yaml()
assert "typing_extensions" not in sys.modules
import re, typing, typing_extensions, yaml
assert re.compile.__module__ == "re"
assert yaml.reader.Reader.NON_PRINTABLE.pattern == REFUSED, "yaml has another pattern: correct ALL_BUT_ALLOWED"
plain, quick = re.compile(ALL_BUT_ALLOWED), yaml.reader.Reader.NON_PRINTABLE
differ = [code for code in range(0x110000) if bool(plain.match(chr(code))) != bool(quick.match(chr(code)))]
print(len(differ), *sys.modules, file=sys.stderr)
"""

    code, modules = imported(tmp_path, program)

    assert (code, {"yaml", "msgspec", "typing_extensions"} - modules) == (0, set())
