"""The manifests as the page shows them: the text of the files, no value of a secret, each finding at its line."""

import re
from collections.abc import Sequence
from typing import Any

from runtime.diagnostics import Diagnostic
from runtime.diagnostics.credentials import starred
from runtime.manifest import Source
from runtime.masking import Masker
from runtime.serve.reading import Reading


def as_data(reading: Reading, masker: Masker) -> dict[str, Any]:
    """`{number, files: [{name, lines, findings}], problem?}`; a finding has its line, from 1, and all that is known."""
    files = []
    for source in reading.sources:
        found = [each for each in reading.diagnostics if each.file == source.name]
        lines = read_masked(source, found, masker)
        files.append({"name": source.name, "lines": lines, "findings": [_finding(each, masker) for each in found]})
    data: dict[str, Any] = {"number": reading.number, "files": files}
    if reading.problem is not None:
        problem = reading.problem
        data["problem"] = {
            "message": masker(problem.message),
            "code": problem.code,
            "resource": problem.resource,
            "hint": masker(problem.hint) if problem.hint else None,
        }
    return data


def read_masked(source: Source, found: Sequence[Diagnostic], masker: Masker) -> list[str]:
    """The lines of a manifest without values of secrets, and without what the check of literals takes for one."""
    lines = re.split(r"\r\n|\r|\n", starred(source.text))
    plain = re.split(r"\r\n|\r|\n", source.text)
    for each in found:
        if each.code == "SECRET_LITERAL" and lines[each.line - 1] == plain[each.line - 1]:
            _star_value(lines, each.line - 1, each.column - 1)
    return masker("\n".join(lines)).split("\n")


def _star_value(lines: list[str], line: int, column: int) -> None:
    """Stars for a value that has escapes or goes over several lines: up to the next line that is not deeper."""
    first = lines[line]
    deep = len(first) - len(first.lstrip(" -"))
    lines[line] = first[:column] + _stars(first[column:])
    for number in range(line + 1, len(lines)):
        text = lines[number]
        if text.strip() and len(text) - len(text.lstrip(" ")) <= deep:
            return
        lines[number] = _stars(text)


def _stars(text: str) -> str:
    return re.sub(r"\S", "*", text)


def _finding(found: Diagnostic, masker: Masker) -> dict[str, Any]:
    return {
        "line": found.line,
        "column": found.column,
        "severity": found.severity,
        "code": found.code,
        "message": masker(found.message),
        "hint": masker(found.hint) if found.hint else None,
    }
