"""Replays and test cases keep nothing, and take over nothing: what they do is played."""

from pathlib import Path

from command import run

MANIFEST = """
kind: Durable.Store
metadata: { name: Runs }
url: "${{ secrets.runsUrl }}"
---
kind: Ai.ScriptedModel
metadata: { name: Model }
turns: [{ text: hello }]
---
kind: Ai.Agent
metadata: { name: Asker }
model: !ref Model
durable: { store: !ref Runs, onManifestChange: continue }
---
kind: Test.Case
metadata: { name: Greets }
agent: !ref Asker
prompt: hi
model: { kind: Ai.ScriptedModel, turns: [{ text: hello }] }
expect: { text: { equals: hello } }
"""


def test_a_case_and_a_replay_leave_the_store_alone(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(MANIFEST)
    url = "sqlite:///runs.db"
    recorded = run(
        tmp_path, "apply", "set.yaml", "--agent", "Asker", "--prompt", "hi", "--record", "tape", "--quiet", RUNS_URL=url
    )
    assert (recorded.code, recorded.out) == (0, "hello\n"), recorded.err
    for file in tmp_path.glob("runs.db*"):
        file.unlink()

    replayed = run(tmp_path, "apply", "set.yaml", "--agent", "Asker", "--prompt", "hi", "--replay", "tape", "--quiet")
    tested = run(tmp_path, "test", "set.yaml", RUNS_URL=url)

    assert (replayed.code, replayed.out) == (0, "hello\n"), replayed.err
    assert (tested.code, tested.out.splitlines()[0]) == (0, "1 passed, 0 failed in" + tested.out.splitlines()[0][21:])
    assert list(tmp_path.glob("runs.db*")) == []
