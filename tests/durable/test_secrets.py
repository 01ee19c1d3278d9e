"""What a manifest uses of secrets is nowhere in its store."""

import sys
from pathlib import Path

import pytest
from command import run
from postgres import Postgres

pytest.importorskip("dbos")

SERVER = Path(__file__).parent.parent / "servers/stdio.py"
WORD = "heron-on-the-roof"
MANIFEST = """
kind: Durable.Store
metadata: {{ name: Runs }}
url: "${{{{ secrets.storeAddress }}}}"
---
kind: Mcp.StdioClient
metadata: {{ name: Echo }}
command: {python}
args: [{server}, "${{{{ secrets.word }}}}"]
env: {{ TOKEN: "${{{{ secrets.word }}}}" }}
---
kind: AiMcp.ToolProvider
metadata: {{ name: Tools }}
client: !ref Echo
---
kind: Ai.Agent
metadata: {{ name: Asker }}
system: "the word is ${{{{ secrets.word }}}}"
model:
  kind: Ai.ScriptedModel
  turns:
    - text: "I say ${{{{ secrets.word }}}}"
      toolCalls:
        - {{ name: echo, arguments: {{ text: "${{{{ secrets.word }}}}, twice" }} }}
        - {{ name: words, arguments: {{}} }}
    - text: "I know ${{{{ secrets.word }}}} well"
toolProviders: [{{ provider: !ref Tools }}]
durable: {{ store: !ref Runs, retrySafe: [words] }}
"""


def ask(folder: Path, address: str) -> str:
    """Run the agent once; what `runtime runs show` tells of it."""
    (folder / "set.yaml").write_text(MANIFEST.format(python=sys.executable, server=SERVER))
    secrets = {"STORE_ADDRESS": address, "WORD": WORD}
    asked = run(folder, "apply", "set.yaml", "--prompt", "go", "--run-id", "one", **secrets)
    shown = run(folder, "runs", "show", "one", "set.yaml", "--full", **secrets)
    assert (asked.code, asked.out, shown.code) == (0, "I know *** well\n", 0), asked.err + shown.err
    return shown.out


def test_no_secret_is_in_the_dump_of_a_server(tmp_path: Path, postgres: Postgres, postgres_url: str) -> None:
    shown = ask(tmp_path, postgres_url)
    dump = postgres.dump(postgres_url)

    assert (WORD in shown, WORD in dump) == (False, False)
    assert "I know *** well" in dump
    assert "***, twice" in shown


def test_no_secret_is_in_a_file(tmp_path: Path) -> None:
    shown = ask(tmp_path, "sqlite:///kept/runs.db")
    stored = b"".join(file.read_bytes() for file in (tmp_path / "kept").iterdir())

    assert (WORD in shown, WORD.encode() in stored) == (False, False)
    assert b"I know *** well" in stored
