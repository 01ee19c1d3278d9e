"""`runtime serve` under load."""

import json
import subprocess
import sys
from pathlib import Path

from command import environment

ROOT = Path(__file__).parents[2]


def test_no_chat_of_many_is_lost(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/serve.py"), "--chats", "100", "--runs", "200", "--output", "json"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["chats"], found["runs"], found["lost"]) == (100, 200, 0)
    assert found["firstEventP99Ms"] > 0
