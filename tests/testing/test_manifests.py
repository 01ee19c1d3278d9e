"""Tests of agents in Python: `run_manifest` with scripts for models and servers."""

from pathlib import Path

import pytest

from runtime.errors import ExpectationError, ManifestError, StartError, UsageError
from runtime.testing import run_manifest, scripted_model, scripted_server

MANIFEST = """\
kind: Mcp.StdioClient
metadata: { name: Files }
command: no-such-command
env: { TOKEN: "${{ secrets.token }}" }
---
kind: AiOpenai.OpenaiModel
metadata: { name: Gpt }
model: gpt-4o-mini
apiKey: "${{ secrets.key }}"
---
kind: Ai.Agent
metadata: { name: Assistant }
model: !ref Gpt
toolProviders: [{ provider: { kind: AiMcp.ToolProvider, client: !ref Files }, prefix: fs_ }]
"""
MODEL = scripted_model(
    turns=[
        {"expect": {"user": "read"}, "toolCalls": [{"name": "fs_read", "arguments": {"path": "a"}}]},
        {"text": "${{ result }}!"},
    ]
)
SERVER = scripted_server(
    tools=[
        {
            "name": "read",
            "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
            "answers": [{"text": "text of ${{ arguments.path }}"}],
        }
    ]
)


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "assistant.yaml"
    path.write_text(MANIFEST)
    return path


def test_a_run_over_scripts_tells_its_text_and_its_calls(manifest: Path) -> None:
    run = run_manifest(manifest, agent="Assistant", prompt="Read ${{ this }}.", model=MODEL, mcp={"Files": SERVER})

    assert (run.text, run.error) == ("text of a!", None)
    assert run.tools_called == [("fs_read", {"path": "a"})]
    assert run.result["usage"]["totalTokens"] == 0


def test_a_run_that_fails_tells_its_code_and_the_steps_before_it(manifest: Path) -> None:
    run = run_manifest(manifest, agent="Assistant", prompt="Sing.", model=MODEL, mcp={"Files": SERVER})

    assert (run.error, run.tools_called) == ("ERR_MODEL_SCRIPT", [])


def test_faults_of_the_set_are_notes_of_the_error(manifest: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        run_manifest(manifest, agent="Assistent", prompt="x")
    assert caught.value.__notes__ == [
        'run_manifest():1:8: REF_UNRESOLVED there is no resource "Assistent" (did you mean "Assistant"?)'
    ]
    with pytest.raises(ManifestError) as caught:
        run_manifest(manifest, agent="Assistant", prompt="x", model=MODEL, environment={})
    assert [note.partition("VALUE_MISSING ")[2] for note in caught.value.__notes__] == [
        '"secrets.token" has no value (set TOKEN in the environment or in ".env")'
    ]


def test_what_is_live_and_does_not_start_is_raised(manifest: Path) -> None:
    with pytest.raises(StartError, match="no-such-command"):
        run_manifest(manifest, agent="Assistant", prompt="x", model=MODEL, environment={"TOKEN": "geheim"})


def test_a_path_that_is_not_there_is_raised(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        run_manifest(tmp_path / "none.yaml", agent="Assistant")


def test_a_cassette_that_is_not_there_and_time_that_is_over_are_raised(manifest: Path, tmp_path: Path) -> None:
    with pytest.raises(ExpectationError, match="there is no cassette") as caught:
        run_manifest(manifest, agent="Assistant", prompt="x", cassette=tmp_path / "tape")
    assert caught.value.code == "ERR_CASSETTE"
    slow = scripted_model(turns=[{"delayMs": 60_000, "text": "late"}])
    with pytest.raises(ExpectationError, match="not done after") as caught:
        run_manifest(manifest, agent="Assistant", prompt="x", model=slow, mcp={"Files": SERVER}, timeout=0.05)
    assert caught.value.code == "ERR_TEST_TIMEOUT"


def test_structured_answers_inputs_and_approval_are_within_reach(tmp_path: Path) -> None:
    path = tmp_path / "set.yaml"
    path.write_text(
        MANIFEST.replace("fs_ }]\n", "fs_ }]\nrequireApproval: [fs_read]\noutput: { schema: { type: object } }\n")
        + "---\nkind: Ai.Task\nmetadata: { name: Work }\nagent: !ref Assistant\nprompt: 'read ${{ inputs.what }}'\n"
    )
    model = scripted_model(
        rules=[
            {"when": {"user": "read (?P<what>.*)"}, "toolCalls": [{"name": "fs_read", "arguments": {"path": "b"}}]},
            {"when": {"toolResult": "text of b"}, "text": '{"read": true}'},
            {"when": {"toolResult": "."}, "text": '{"read": false}'},
        ]
    )

    def read(*approved: str) -> bool:
        scripts = {"model": model, "mcp": {"Files": SERVER}}
        run = run_manifest(path, agent="Work", inputs={"what": "b"}, approve=approved, **scripts)
        return bool(run.output["read"])

    assert (read("fs_*"), read()) == (True, False)
