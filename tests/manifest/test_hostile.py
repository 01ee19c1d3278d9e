"""Texts that are made to hurt: each ends soon, with a finding or none, and nothing is raised."""

import time

import pytest

from runtime.checks import check
from runtime.manifest import Source

MIB = 1 << 20
AGENT = b"kind: Ai.Agent\nmetadata: { name: A }\nmodel: { kind: Ai.ScriptedModel }\n"
MOST_SECONDS = 10.0
"""Of processor time on any machine, so that only what does not end soon is caught; figures are for `benchmarks/`."""


def codes(data: bytes) -> list[str]:
    """The codes of the findings, each once, in order."""
    started = time.thread_time()
    found = check([Source("m.yaml", data, ".")]).diagnostics
    assert time.thread_time() - started < MOST_SECONDS
    return list(dict.fromkeys(each.code for each in found))


def bomb(levels: int) -> bytes:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for number in range(levels):
        above, name = chr(97 + number), chr(98 + number)
        lines.append(f"{name}: &{name} [{', '.join([f'*{above}'] * 9)}]")
    return "\n".join(lines).encode()


def repeated(text: bytes, size: int = MIB) -> bytes:
    return text * (size // len(text))


BIG = b"a: " + b"x" * MIB
MERGES = (
    b"base: &base {" + b", ".join(b"k%d: 1" % number for number in range(1000)) + b"}\n"
    b"all: [" + b", ".join(b"{<<: [" + b", ".join([b"*base"] * 50) + b"]}" for _ in range(50)) + b"]\n"
)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(b"a: " + repeated(b"[", MIB - 9), "YAML_TOO_LARGE", id="lists in lists"),
        pytest.param(b"a: " + repeated(b"{", MIB - 9), "YAML_TOO_LARGE", id="mappings in mappings"),
        pytest.param(repeated(b"- ", 4000), "YAML_TOO_LARGE", id="dashes"),
        pytest.param(repeated(b"? ", 4000), "YAML_SYNTAX", id="question marks"),
        pytest.param(
            b"a:\n" + b"".join(b" " * level + b"a:\n" for level in range(1, 1200)), "YAML_TOO_LARGE", id="levels"
        ),
        pytest.param(bomb(20), "YAML_TOO_LARGE", id="aliases of aliases"),
        pytest.param(MERGES, "YAML_TOO_LARGE", id="merge keys"),
        pytest.param(b"a: &a [*a]\n", "YAML_TOO_LARGE", id="an alias inside its anchor"),
        pytest.param(b"a: &a\n  b: { <<: *a }\n", "YAML_TOO_LARGE", id="a merge inside its anchor"),
        pytest.param(BIG, "YAML_TOO_LARGE", id="more than 1 MiB"),
        pytest.param(b"\0" * MIB, "YAML_SYNTAX", id="NUL"),
        pytest.param(b"\xff" * MIB, "YAML_SYNTAX", id="no UTF-8"),
        pytest.param("kind: x\n".encode("utf-16"), "YAML_SYNTAX", id="UTF-16"),
        pytest.param(b"\t" * (MIB - 9) + b"a", "YAML_SYNTAX", id="tabs"),
        pytest.param(b"%" * MIB, "YAML_SYNTAX", id="per cent"),
        pytest.param(b"!" * MIB, "YAML_UNKNOWN_TAG", id="exclamation marks"),
        pytest.param(b"&" * MIB, "YAML_SYNTAX", id="ampersands"),
        pytest.param(repeated(b"--- a\n"), "DOCUMENT_NOT_MAPPING", id="documents that are texts"),
        pytest.param(b"".join(b"k%d: x\n" % number for number in range(101_000)), "YAML_TOO_LARGE", id="keys"),
        pytest.param(b"k: x\n" * 200_000, "YAML_DUPLICATE_KEY", id="one key"),
        pytest.param(b"{" + b"a: 1, " * 170_000 + b"}", "YAML_DUPLICATE_KEY", id="one key in braces"),
        pytest.param(
            b"".join(b"- &a%d x\n" % number for number in range(80_000)), "DOCUMENT_NOT_MAPPING", id="anchors"
        ),
        pytest.param(b'a: "\\ud800"\n', "YAML_SYNTAX", id="half a pair"),
        pytest.param(b'a: "\\x"\n', "YAML_SYNTAX", id="half an escape"),
    ],
)
def test_a_text_that_cannot_be_read_is_a_finding(data: bytes, code: str) -> None:
    assert codes(data)[0] == code


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\n" * MIB, id="line ends"),
        pytest.param(b"\r" * MIB, id="carriage returns"),
        pytest.param(b"#" * MIB, id="a comment"),
        pytest.param(repeated(b"---\n", MIB // 2), id="empty documents"),
        pytest.param(AGENT + b"system: " + b"x" * (MIB - 200), id="a long text"),
        pytest.param(AGENT + b'system: "' + b"x\\n" * (MIB // 4) + b'"', id="escapes"),
        pytest.param(AGENT + b"system: |\n" + b"  x\n" * (MIB // 5), id="a long block"),
        pytest.param(AGENT + b"options: { a: " + b"9" * 100_000 + b" }", id="digits"),
        pytest.param(AGENT + b"options: { a: " + b"[" * 90 + b"]" * 90 + b" }", id="levels that are allowed"),
        pytest.param(b"---\n".join([AGENT.replace(b"name: A", b"name: A%d" % n) for n in range(1000)]), id="agents"),
    ],
)
def test_a_text_that_is_only_odd_is_read(data: bytes) -> None:
    assert codes(data) == []


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (b"(" * 50_000, ["CEL_SYNTAX"]),
        (b"[" * 20_000 + b"]" * 20_000, ["CEL_SYNTAX"]),
        (b"1" + b"+1" * 50_000, ["CEL_SYNTAX"]),
        (b"+".join([b"1"] * 40), ["CEL_SYNTAX"]),
        (b"!" * 50_000 + b"true", ["CEL_TYPE"]),
        (b'"' + b"x" * 500_000, ["CEL_SYNTAX"]),
        (b"a." * 50_000 + b"a", ["CEL_SYNTAX"]),
        (b"[1].map(a, " * 500 + b"1" + b")" * 500, ["CEL_SYNTAX"]),
    ],
    ids=["brackets", "lists", "sums", "a sum", "nots", "a text", "a path", "macros"],
)
def test_an_expression_of_exceeding_depth_is_a_finding(expression: bytes, expected: list[str]) -> None:
    assert codes(AGENT + b"system: !cel '" + expression + b"'\n") == expected


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (repeated(b"${{ x }} ", MIB - 200), ["CEL_UNKNOWN_NAME"]),
        (repeated(b"${{", MIB - 200), ["CEL_SYNTAX"]),
        (repeated(b"${{ {", MIB - 200), ["CEL_SYNTAX"]),
        (repeated(b"${{ '' }}", MIB - 200), []),
    ],
    ids=["many unknown names", "never closed", "never closed in braces", "many that are right"],
)
def test_many_expressions_in_one_text(system: bytes, expected: list[str]) -> None:
    assert codes(AGENT + b'system: "' + system + b'"\n') == expected


@pytest.mark.parametrize(
    ("documents", "code"),
    [
        (lambda n: b"kind: AiMcp.ToolProvider\nmetadata: { name: P%d }\nclient: !ref Q%d\n" % (n, n), "REF_UNRESOLVED"),
        (lambda n: b"kind: Ai.Agnt%d\nmetadata: { name: P%d }\n" % (n, n), "KIND_UNKNOWN"),
        (lambda n: b"kind: Ai.ScriptedModel\nmetadata: { name: P }\n", "NAME_DUPLICATE"),
        (
            lambda n: (
                b"kind: Ai.Agent\nmetadata: { name: A%d }\nmodel: { kind: Ai.ScriptedModel }\ntoolProviders: [{ "
                b"provider: { kind: Ai.Tools, tools: [{ tool: !ref A%d, parameters: {} }] } }]\n" % (n, (n + 1) % 1500)
            ),
            "REF_CYCLE",
        ),
    ],
    ids=["unresolved", "unknown kinds", "one name", "a long circle"],
)
def test_many_faults_of_one_sort(documents: object, code: str) -> None:
    assert callable(documents)
    data = b"---\n".join(documents(number) for number in range(1500))

    assert code in codes(data)


def test_one_mapping_with_many_unknown_fields() -> None:
    data = AGENT + b"".join(b"unknown%d: 1\n" % number for number in range(5000))

    assert codes(data) == ["SCHEMA_UNKNOWN_FIELD"]


def test_a_fault_behind_a_hostile_document_is_found_all_the_same() -> None:
    data = b"---\n".join(
        [BIG + b"\n", b"a: \x07\n", b"a: " + b"[" * 5000 + b"\n", bomb(20) + b"\n", b"kind: Ai.Agnt\n"]
    )

    found = check([Source("m.yaml", data, ".")]).diagnostics

    assert [(each.line, each.code) for each in found] == [
        (1, "YAML_TOO_LARGE"),
        (3, "YAML_SYNTAX"),
        (5, "YAML_TOO_LARGE"),
        (12, "YAML_TOO_LARGE"),
        (29, "NAME_MISSING"),
        (29, "KIND_UNKNOWN"),
    ]
