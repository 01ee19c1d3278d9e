"""`retries` of a task: the work is done anew after it failed, kept or not."""

from pathlib import Path

import pytest
from command import run

FLAKY = '''
from pathlib import Path

TRIES = Path("tries")


def count() -> int:
    """How often it was asked; it fails until the third time."""
    TRIES.write_text(TRIES.read_text() + "x" if TRIES.exists() else "x")
    number = len(TRIES.read_text())
    if number < 3:
        raise RuntimeError(f"not yet, {number}")
    return number
'''
MANIFEST = """
kind: Runtime.Application
metadata: {{ name: Flaky }}
imports: {{ flaky: ./flaky.py }}
---
kind: Ai.Task
metadata: {{ name: Count }}
agent: {{ kind: Python.Function, function: "flaky:count" }}
retries: {retries}
{more}
"""
KEPT = "durable: { store: { kind: Durable.Store }, onUncertainTool: retry }"


@pytest.mark.parametrize("more", ["", KEPT], ids=["plain", "kept"])
def test_a_task_is_done_anew_as_often_as_it_may(more: str, tmp_path: Path) -> None:
    (tmp_path / "flaky.py").write_text(FLAKY)
    (tmp_path / "set.yaml").write_text(MANIFEST.format(retries=1, more=more))
    failed = run(tmp_path, "apply", "set.yaml", "--agent", "Count", "--output", "json")
    (tmp_path / "tries").unlink()
    (tmp_path / "set.yaml").write_text(MANIFEST.format(retries=2, more=more))
    done = run(tmp_path, "apply", "set.yaml", "--agent", "Count", "--output", "json")

    assert failed.code == 4
    assert "not yet, 2" in failed.err
    assert (done.code, done.out.strip()) == (0, "3"), done.err
    assert "warning: Count: done anew, as it failed: " in done.err
