"""Findings as SARIF 2.1.0 (OASIS), the form in which code scanning services take them."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from runtime.diagnostics.codes import CODES
from runtime.diagnostics.diagnostic import Diagnostic

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_sarif(diagnostics: Sequence[Diagnostic], version: str) -> dict[str, Any]:
    """One run of one tool; a rule for each code that was found, with its help."""
    codes = sorted({found.code for found in diagnostics})
    place = {code: index for index, code in enumerate(codes)}
    driver = {"name": "runtime", "semanticVersion": version, "rules": [_rule(code) for code in codes]}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(found, place[found.code]) for found in diagnostics],
            }
        ],
    }


def _rule(code: str) -> dict[str, Any]:
    meaning = CODES[code]
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in code.split("_")),
        "shortDescription": {"text": meaning.summary},
        "fullDescription": {"text": f"{meaning.summary[:1].upper()}{meaning.summary[1:]}."},
        "help": {"text": meaning.help},
        "defaultConfiguration": {"level": meaning.severity},
    }


def _result(found: Diagnostic, rule: int) -> dict[str, Any]:
    text = found.message if found.hint is None else f"{found.message}\n{found.hint}"
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(found.file)},
            "region": {"startLine": found.line, "startColumn": found.column},
        }
    }
    if found.resource:
        location["logicalLocations"] = [{"name": found.resource, "kind": "resource"}]
    return {
        "ruleId": found.code,
        "ruleIndex": rule,
        "level": found.severity,
        "message": {"text": text},
        "locations": [location],
    }


def _uri(file: str) -> str:
    """A relative path stays relative to where the command ran; an absolute one becomes a `file:` address."""
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
