"""Whatever the text, validating it ends soon, with findings that can be printed in every form."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.checks import Checked, check
from runtime.diagnostics.github import as_github
from runtime.diagnostics.junit import as_junit
from runtime.diagnostics.render import as_data, as_text
from runtime.diagnostics.sarif import as_sarif
from runtime.manifest import Source

GOLDEN = Path(__file__).parent.parent / "golden"
TEXTS = sorted(path.read_text("utf-8", "surrogateescape") for path in GOLDEN.glob("*/*.yaml"))
FILES = GOLDEN / "valid" / "imported"
"""A folder with kinds to import."""

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "250"))
"""For each of the two tests; `FUZZ_EXAMPLES=1000` makes the 2000 inputs of the promise."""

MOST_SECONDS = 1.0

TOKENS = [
    *(
        "kind:",
        "metadata:",
        "name:",
        "Ai.Agent",
        "Ai.ScriptedModel",
        "Mcp.StdioClient",
        "Runtime.Application",
        "Ai.Tools",
    ),
    *("model:", "tools:", "parameters:", "inputs:", "type: integer", "default:", "imports:", "./kinds.py", "targets:"),
    *("toolProviders:", "provider:", "prefix:", "env:", "!ref ", "!cel ", "!include-text ", "!!str ", "!foo "),
    *("${{ ", "}}", "secrets.a", "variables.b", "arguments.c", "has(", "- ", "? ", ": ", ", ", "{", "}", "[", "]"),
    *("&a ", "*a", "<<: ", '"', "'", "'''", '""', "|\n", ">-\n", "\t", "#", "%", "@", "`", "\\", "\\u0041", "\n---\n"),
    *("\n...\n", "\r\n", "\r", "\0", "\x85", "\u2028", "\ufeff", "\ud800", "🌊", "é", "0", "-1", "1e999", ".nan", "~"),
    *("true", "\n", "\n  ", "  ", " ", "|"),
]
TOKEN = st.sampled_from(TOKENS) | st.text(max_size=3)
EDIT = st.tuples(
    st.sampled_from(["insert", "remove", "replace", "repeat", "swap"]), st.integers(0), st.integers(0), TOKEN
)


def edit(text: str, edits: Sequence[tuple[str, int, int, str]]) -> str:
    for how, first, length, token in edits:
        at = first % (len(text) + 1)
        end = at + length % 20
        if how == "insert":
            text = text[:at] + token + text[at:]
        elif how == "remove":
            text = text[:at] + text[end:]
        elif how == "replace":
            text = text[:at] + token + text[end:]
        elif how == "repeat":
            text = text[:end] + text[at:end] + text[end:]
        else:
            text = text[:at] + text[end : end + 10] + text[at:end] + text[end + 10 :]
    return text


def validate(*texts: str) -> Checked:
    """Check texts as one set, within the time that any input may take."""
    sources = [
        Source(f"{number}.yaml", text.encode("utf-8", "surrogatepass"), str(FILES)) for number, text in enumerate(texts)
    ]
    checked, seconds = timed(sources)
    if seconds >= MOST_SECONDS:  # once more: what is loaded on first use, and a busy machine, are not the input's doing
        checked, seconds = timed(sources)
    assert seconds < MOST_SECONDS
    return checked


def timed(sources: list[Source]) -> tuple[Checked, float]:
    """What is found, and the processor time that took."""
    started = time.thread_time()
    checked = check(sources)
    return checked, time.thread_time() - started


def print_in_every_form(checked: Checked) -> None:
    found = checked.diagnostics
    lines = {(each.file, each.line): checked.sources[int(each.file[0])].line(each.line) for each in found}
    for line in as_text(found, lines, colour=True):
        assert "\n" not in line
        line.encode()
    json.dumps(as_data(found), ensure_ascii=False).encode()
    json.dumps(as_sarif(found, "1.0"), ensure_ascii=False).encode()
    assert all("\n" not in line for line in as_github(found))
    ElementTree.fromstring(as_junit(found, []))


def places_are_right(checked: Checked) -> None:
    places = [(found.file, found.line, found.column) for found in checked.diagnostics]
    assert places == sorted(places)
    for found in checked.diagnostics:
        line = checked.sources[int(found.file[0])].line(found.line)
        assert 1 <= found.column <= len(line) + 1, found


FUZZ = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FUZZ
@given(parts=st.lists(TOKEN, max_size=40))
def test_any_text(parts: list[str]) -> None:
    checked = validate("".join(parts))

    places_are_right(checked)
    print_in_every_form(checked)


@FUZZ
@given(text=st.sampled_from(TEXTS), other=st.sampled_from(TEXTS), edits=st.lists(EDIT, min_size=1, max_size=6))
def test_any_change_of_a_manifest(text: str, other: str, edits: list[tuple[str, int, int, str]]) -> None:
    checked = validate(edit(text, edits), other)

    places_are_right(checked)
    print_in_every_form(checked)


CEL = st.sampled_from(
    [
        *("variables.n", "variables.s", "secrets.k", "metadata.name", "x", "has(", "size(", "string(", ".map(x, ", "["),
        *(
            "]",
            "{",
            "}",
            "(",
            ")",
            "'",
            '"',
            "'a'",
            "1",
            "1.5",
            "-",
            "!",
            "+",
            "&&",
            "==",
            "?",
            ":",
            ",",
            ".",
            " ",
            "\n",
        ),
        *("${{", "}}", "//", "r'", "b'", "true", "null", "in", "99999999999999999999", "\\", "`", "é", "🌊", "#"),
    ]
)
EXPRESSIONS = """kind: Runtime.Application
metadata: { name: App }
variables: { n: { type: integer, default: 1 }, s: { default: a } }
---
kind: Ai.Agent
metadata: { name: A }
model: { kind: Ai.ScriptedModel }
"""


@FUZZ
@given(parts=st.lists(CEL, max_size=30), times=st.sampled_from([1, 1, 1, 40]))
def test_any_expression(parts: list[str], times: int) -> None:
    text = "".join(parts) * times

    checked = validate(f"{EXPRESSIONS}system: {json.dumps(text)}\noptions: {{ a: !cel {json.dumps(text)} }}\n")

    places_are_right(checked)
    print_in_every_form(checked)
