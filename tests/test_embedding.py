"""The runtime inside a Python program."""

from pathlib import Path

import pytest

import runtime

MANIFEST = """\
kind: Ai.ScriptedModel
metadata: { name: Model }
turns: [{ text: "hello from ${{ variables.place }}" }]
---
kind: Ai.Agent
metadata: { name: Greeter }
model: !ref Model
---
kind: Runtime.Application
metadata: { name: App }
variables: { place: { type: string, env: PLACE } }
"""


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "app.yaml"
    path.write_text(MANIFEST)
    return str(path)


def test_validate_gives_the_findings(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("kind: Ai.Agent\nmetadata: { name: A }\nmodel: !ref Nobody\n")
    [found] = runtime.validate(str(path))
    assert (found.code, found.line, found.column, found.severity) == ("REF_UNRESOLVED", 3, 8, "error")


@pytest.mark.anyio
async def test_open_manifests_gives_live_agents(manifest: str) -> None:
    async with runtime.open_manifests(manifest, names=["Greeter"], environment={"PLACE": "here"}) as live:
        answer = await live["Greeter"].invoke({"prompt": "hi"})
    assert answer["text"] == "hello from here"


@pytest.mark.anyio
async def test_a_missing_value_is_a_finding_before_anything_starts(manifest: str) -> None:
    with pytest.raises(runtime.ManifestError) as caught:
        async with runtime.open_manifests(manifest, environment={}):
            pass
    assert [found.code for found in caught.value.diagnostics] == ["VALUE_MISSING"]


@pytest.mark.anyio
async def test_a_name_that_is_not_there_is_told_with_the_names_that_are(manifest: str) -> None:
    with pytest.raises(runtime.UsageError) as caught:
        async with runtime.open_manifests(manifest, names=["Nobody"], environment={"PLACE": "x"}):
            pass
    assert caught.value.hint == "there are: Model, Greeter, App"
