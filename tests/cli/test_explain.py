"""`runtime explain`: kinds, fields, contracts and codes, in words and as JSON."""

import json

import pytest

from runtime.cli.main import main
from runtime.diagnostics import CODES


def explain(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["explain", *words])
    out, err = capfd.readouterr()
    return status, out, err


def test_without_a_subject_every_kind_is_listed(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = explain(capfd)
    assert status == 0
    assert "Mcp.StdioClient" in out


def test_a_kind_is_told_with_all_its_fields(capfd: pytest.CaptureFixture[str]) -> None:
    status, out, _ = explain(capfd, "AiMcp.ToolProvider")
    assert status == 0
    assert "client: reference to Mcp.Client (required)" in out
    assert 'results: "both" or "structured" (default "structured")' in out


def test_a_field_inside_a_list_is_found_by_its_path(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = explain(capfd, "Ai.Agent.toolProviders.prefix", "--output", "json")
    [field] = json.loads(out)["fields"]
    assert (field["path"], field["type"], field["evaluated"]) == ("toolProviders[].prefix", "text", False)


def test_a_contract_names_the_kinds_that_keep_it(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = explain(capfd, "Mcp.Client", "--output", "json")
    assert json.loads(out) == {
        "contract": "Mcp.Client",
        "kinds": ["Mcp.HttpClient", "Mcp.ScriptedServer", "Mcp.StdioClient", "Test.Cassette"],
    }


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(capfd: pytest.CaptureFixture[str], code: str) -> None:
    status, out, _ = explain(capfd, code)
    assert status == 0
    assert out.startswith(f"{code} ({CODES[code].severity}): {CODES[code].summary}")


@pytest.mark.parametrize(
    ("subject", "near"),
    [("Ai.Agnt", "Ai.Agent"), ("Ai.Agent.maxStep", "maxSteps"), ("REF_CICLE", "REF_CYCLE")],
)
def test_a_mistyped_subject_gets_the_nearest(capfd: pytest.CaptureFixture[str], subject: str, near: str) -> None:
    status, out, err = explain(capfd, subject)
    assert (status, out) == (2, "")
    assert f'did you mean "{near}"?' in err
