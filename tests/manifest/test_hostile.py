"""Texts that are made to hurt: each ends soon, with a finding or none, and nothing is raised."""

import gc
import io
import time

import pytest

from runtime.checks import check
from runtime.cli.main import main
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


MANY = range(12_000)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(b"".join(b"unknown%d: 1\n" % n for n in MANY), "SCHEMA_UNKNOWN_FIELD", id="unknown fields"),
        pytest.param(b"requireApproval: [" + b"1," * 90_000 + b"]\n", "SCHEMA_TYPE", id="wrong types"),
        pytest.param(b"options: { a: [" + b"!ref A," * 90_000 + b"] }\n", "REF_MISPLACED", id="references"),
        pytest.param(b"options: { a: [" + b"!cel x," * 90_000 + b"] }\n", "CEL_UNKNOWN_NAME", id="unknown names"),
        pytest.param(
            b"options:\n" + b"".join(b"  k%d: !cel 1 %d\n" % (n, n) for n in MANY), "CEL_SYNTAX", id="expressions"
        ),
        pytest.param(
            b"options: { a: [" + b"!include-text x," * 40_000 + b"] }\n", "INCLUDE_NOT_FOUND", id="included files"
        ),
        pytest.param(
            b"toolProviders: [{ provider: { kind: Ai.Tools, tools: ["
            + b"{ tool: { kind: Ai.Agent, model: { kind: Ai.ScriptedModel } }, parameters: { type: x } }," * 9_000
            + b"] } }]\n",
            "SCHEMA_VALUE",
            id="schemas",
        ),
    ],
)
def test_of_very_many_faults_of_one_resource_the_last_says_that_there_are_more(data: bytes, code: str) -> None:
    found = check([Source("m.yaml", AGENT + data, ".")]).diagnostics

    assert [each.code for each in found] == [code] * 1000
    assert found[-1].message == "this resource has 1000 errors or more; what else is wrong is not shown"


def test_of_very_many_faults_of_a_set_the_last_says_that_there_are_more() -> None:
    found = check([Source("m.yaml", b"---\na: b\n" * 6000, ".")]).diagnostics

    assert len(found) == 10_000
    assert [each.message for each in found if "not shown" in each.message] == [
        "the set has 10000 errors or more; what else is wrong is not shown"
    ]


def test_many_warnings_hide_no_error() -> None:
    credentials = b"".join(b"  k%d: ghp_%s\n" % (number, b"MADEup0" * 5) for number in range(2000))
    data = AGENT + b"options:\n" + credentials + b"other: 1\n"

    checked = check([Source("m.yaml", data, ".")])

    assert (checked.errors, checked.warnings) == (1, 1000)


def test_a_path_without_end_is_not_followed() -> None:
    assert codes(AGENT + b"system: !include-text " + repeated(b"a/", MIB - 200) + b"\n") == ["INCLUDE_NOT_FOUND"]


def test_chains_of_models_that_share_their_models_are_walked_once() -> None:
    chain = b"kind: Ai.FallbackModel\nmetadata: { name: M%d }\nmodels: [!ref M%d, !ref M%d]\n"
    documents = [chain % (number, number + 1, number + 1) for number in range(1500)]
    documents += [AGENT.replace(b"{ kind: Ai.ScriptedModel }", b"!ref M0"), b"kind: Ai.ScriptedModel\n"]
    documents[-1] += b"metadata: { name: M1500 }\n"

    assert codes(b"---\n".join(documents)) == []


def test_many_inline_resources_in_one() -> None:
    tool = b"  - { name: t%d, tool: { kind: Ai.Agent, model: { kind: Ai.ScriptedModel } }, parameters: {} }\n"
    data = b"kind: Ai.Tools\nmetadata: { name: T }\ntools:\n" + b"".join(tool % number for number in range(9000))

    assert codes(data) == ["RESOURCE_UNUSED"]


def test_many_names_in_scope_and_many_that_are_not() -> None:
    properties = b"".join(b"        p%d: {}\n" % number for number in MANY)
    inputs = b"".join(b"      i%d: ${{ arguments.q%d }}\n" % (number, number) for number in MANY)
    tool = b"  - tool: !ref A\n    parameters:\n      properties:\n" + properties + b"    inputs:\n" + inputs
    data = AGENT + b"---\nkind: Ai.Tools\nmetadata: { name: T }\ntools:\n" + tool

    assert codes(data) == ["CEL_UNKNOWN_NAME"]


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github", "junit"])
def test_every_form_of_output_takes_very_many_findings(form: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    documents = b"".join(b"---\nkind: Ai.Agnt%d\nmetadata: { name: A%d }\n" % (n, n) for n in range(4000))
    started = time.thread_time()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(documents)))
        code = main(["validate", "-", "--output", form])
    gc.enable()  # the command ends its process; this one goes on

    assert code == 1
    assert capfdbinary.readouterr().out.count(b"KIND_UNKNOWN") >= 4000
    assert time.thread_time() - started < MOST_SECONDS


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
