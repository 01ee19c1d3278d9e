"""Manifests that are marked where something is to be found (`tests/golden/marked/README.md` has the marks)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from runtime.checks import check
from runtime.manifest import Source, read_sources

MARKED = Path(__file__).parent.parent / "golden" / "marked"
MARK = re.compile(r"⟦(\*?)([A-Z_]+)⟧")
LINE_END = re.compile(r"\r\n|\r|\n")
MODEL = '{ kind: AiOpenai.OpenaiModel, model: gpt-4o-mini, apiKey: "${{ secrets.openaiApiKey }}" }'
MODEL_DOCUMENT = (
    'kind: AiOpenai.OpenaiModel\nmetadata: { name: Model }\nmodel: gpt-4o-mini\napiKey: "${{ secrets.openaiApiKey }}"\n'
)
Found = tuple[str, int, int, str]
"""File, line, column (0 for any) and code."""


class Case(NamedTuple):
    name: str
    options: list[str]
    body: str


def cases() -> Iterator[Case]:
    for path in sorted(MARKED.glob("*.txt")):
        for part in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            head, _, body = part.partition("\n")
            name, *options = head.split()
            yield Case(name, options, body)


def written_out(text: str, options: list[str]) -> str:
    """The text with its shorthands written out and its marks still in it."""
    text = text.replace("@MODEL@\n", MODEL_DOCUMENT).replace("@M@", MODEL)
    text = text.removesuffix("\n") if "noeol" in options else text
    text = text.replace("\n", "\r\n" if "crlf" in options else "\r" if "cr" in options else "\n")
    text = re.sub("‹([0-9A-F]{2})›", lambda found: bytes.fromhex(found[1]).decode("utf-8", "surrogateescape"), text)
    text = re.sub("‹u([0-9A-F]{4})›", lambda found: chr(int(found[1], 16)), text)
    return re.sub(r"‹(.+?)\*(\d+)›", lambda found: found[1] * int(found[2]), text)


def without_marks(name: str, text: str, options: list[str]) -> tuple[bytes, list[Found]]:
    """What the file holds, and what is to be found in it."""
    pieces, expected, at = "", [], 0
    for mark in MARK.finditer(text):
        pieces += text[at : mark.start()]
        at = mark.end()
        *before, line = LINE_END.split(pieces)
        expected.append((name, len(before) + 1, 0 if mark[1] else len(line) + 1, mark[2]))
    start = "\ufeff" if "bom" in options else ""
    return (start + pieces + text[at:]).encode("utf-8", "surrogateescape"), expected


def write_files(case: Case, folder: Path) -> tuple[list[Source], list[Found]]:
    """The sources of a case, and what is to be found in them."""
    if "@@@ " not in case.body:
        data, expected = without_marks("case.yaml", written_out(case.body, case.options), case.options)
        return [Source("case.yaml", data, str(folder))], expected
    expected = []
    for part in re.split(r"^@@@ ", case.body, flags=re.M)[1:]:
        head, _, text = part.partition("\n")
        name, *options = [*head.split(), *case.options]
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text[3:].strip())
        else:
            data, marked = without_marks(name, written_out(text, options), options)
            path.write_bytes(data)
            expected += marked
    return read_sources([str(folder)]), expected


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases()])
def test_what_is_marked_is_found_and_nothing_else(case: Case, tmp_path: Path) -> None:
    sources, expected = write_files(case, tmp_path)
    any_column = {(file, line, code) for file, line, column, code in expected if not column}

    found = [(Path(each.file).name, each.line, each.column, each.code) for each in check(sources).diagnostics]
    found = [(*each[:2], 0, each[3]) if (*each[:2], each[3]) in any_column else each for each in found]

    assert sorted(found) == sorted(expected)
