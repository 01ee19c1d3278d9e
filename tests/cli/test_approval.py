"""`requireApproval` on the command line: the question on a terminal, the refusal without one."""

from pathlib import Path

import pytest
from command import left_behind, run
from terminal import Terminal, on_terminal

MANIFEST = """\
kind: Ai.Agent
metadata: { name: Echo }
model: { kind: Ai.ScriptedModel, rules: [{ text: "did ${{ user }}" }] }
---
kind: Ai.Tools
metadata: { name: Tools }
tools: [{ tool: !ref Echo, name: act, parameters: { type: object, required: [prompt] } }]
---
kind: Ai.Agent
metadata: { name: Main }
model:
  kind: Ai.ScriptedModel
  turns:
    - toolCalls:
        - { name: t_act, arguments: { prompt: "a\\e[2J\\u202eb" } }
        - { name: t_act, arguments: { prompt: two } }
    - text: "${{ results[0] }}; ${{ results[1] }}"
toolProviders: [{ provider: !ref Tools, prefix: t_ }]
requireApproval: ["t_*"]
"""
QUESTION = "Allow it? [y]es, [a]lways, [n]o, or why not: "


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "app.yaml").write_text(MANIFEST)
    return "apply", "app.yaml", "--agent", "Main", "--prompt", "go", "--quiet"


def answer(terminal: Terminal, *lines: str) -> list[str]:
    """Answer each question; what was shown before each."""
    shown = []
    for line in lines:
        shown.append(terminal.expect(QUESTION))
        terminal.type(f"{line}\r")
    return shown


def test_a_person_sees_all_arguments_with_hidden_characters_and_decides_each_call(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    with on_terminal(tmp_path, *words) as terminal:
        first, second = answer(terminal, "y", "use another one")
        code = terminal.wait()

    assert first.endswith('Main wants to call t_act with\n{\n  "prompt": "a\\u001b[2J\\u202eb"\n}\n')
    assert second.endswith('Main wants to call t_act with\n{\n  "prompt": "two"\n}\n')
    assert terminal.shown.endswith(
        'did a\\x1b[2J\\u202eb; the call of the tool "t_act" was not approved: use another one\n'
    )
    assert code == 0


@pytest.mark.parametrize("typed", ["", "n", "No", "\x04"])
def test_nothing_but_a_clear_yes_approves(tmp_path: Path, words: tuple[str, ...], typed: str) -> None:
    with on_terminal(tmp_path, *words) as terminal:
        answer(terminal, typed, "")
        terminal.wait()

    refused = 'the call of the tool "t_act" was not approved'
    assert terminal.shown.endswith(f"{refused}; {refused}\n")


def test_always_approves_the_tool_from_then_on(tmp_path: Path, words: tuple[str, ...]) -> None:
    with on_terminal(tmp_path, *words) as terminal:
        answer(terminal, "a")
        code = terminal.wait()

    assert (code, terminal.shown.count(QUESTION), terminal.shown.endswith("; did two\n")) == (0, 1, True)


def test_what_was_typed_before_the_question_is_no_answer(tmp_path: Path, words: tuple[str, ...]) -> None:
    with on_terminal(tmp_path, *words) as terminal:
        terminal.type("y\ry\ry\r")
        terminal.expect(QUESTION)
        terminal.type("n\r")
        terminal.expect(QUESTION)
        terminal.type("n\r")
        terminal.wait()

    assert "did" not in terminal.shown.rpartition(QUESTION)[2]


def test_an_interrupt_at_the_question_ends_the_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    with on_terminal(tmp_path, *words) as terminal:
        terminal.expect(QUESTION)
        terminal.process.send_signal(2)
        assert terminal.wait() == 130
    assert left_behind(tmp_path) == []


def test_without_a_terminal_the_call_is_refused_and_the_way_out_is_told(tmp_path: Path, words: tuple[str, ...]) -> None:
    ended = run(tmp_path, *words)

    refused = 'the call of the tool "t_act" was not approved: there is no terminal on which somebody could be asked'
    warning = (
        'warning: Main: the call of "t_act" is refused: it needs approval, and there is no terminal to ask on; '
        '"--approve t_act" approves it\n'
    )
    assert ended == (0, f"{refused}; {refused}\n", warning * 2)


def test_tools_may_be_approved_on_the_command_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    ended = run(tmp_path, *words, "--approve", "other", "--approve", "t_*")

    assert ended == (0, "did a\x1b[2J\u202eb; did two\n", "")
