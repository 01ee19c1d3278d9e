"""`runtime apply` with targets: one, several at once, inputs, and what is printed of each."""

import json
from pathlib import Path

import pytest
from command import Ended, run
from terminal import on_terminal

MANIFEST = """\
kind: Runtime.Application
metadata: { name: App }
targets: [TARGETS]
---
kind: Ai.ScriptedModel
metadata: { name: Model }
rules: [{ when: { user: "greet (?P<who>\\\\w+)" }, text: "hello ${{ match.who }}" }]
---
kind: Ai.Completion
metadata: { name: Writer }
model: !ref Model
---
kind: Ai.Task
metadata: { name: Greet }
agent: !ref Writer
inputs: { type: object, properties: { who: { type: string } } }
prompt: "greet ${{ inputs.who }}"
---
kind: Ai.Task
metadata: { name: Fail }
agent: !ref Writer
prompt: greet Eve
expect: { that: [!cel "result.text == 'bye'"] }
"""


def apply(folder: Path, targets: str, *words: str) -> Ended:
    (folder / "app.yaml").write_text(MANIFEST.replace("TARGETS", targets))
    return run(folder, "apply", "app.yaml", "--quiet", *words)


def test_a_single_target_prints_its_answer(tmp_path: Path) -> None:
    ended = apply(tmp_path, "!ref Greet", "--input", "who=Ann")
    assert (ended.code, ended.out, ended.err) == (0, "hello Ann\n", "")


def test_several_targets_print_a_table_and_the_first_failure_is_the_exit_code(tmp_path: Path) -> None:
    ended = apply(tmp_path, "!ref Greet, !ref Fail", "--input", "who=Ann")
    assert ended.code == 5
    rows = [line.split() for line in ended.out.splitlines()]
    assert [(row[0], row[1], row[4:]) for row in rows[:2]] == [
        ("Greet", "done", ["hello", "Ann"]),
        ("Fail", "failed", ['"result.text', "==", "'bye'\"", "does", "not", "hold", "of", "the", "answer"]),
    ]
    assert "error: Fail: " in ended.err


def test_several_targets_as_json_are_told_by_name(tmp_path: Path) -> None:
    ended = apply(tmp_path, "!ref Greet, !ref Fail", "--input", "who=Ann", "--output", "json")
    data = json.loads(ended.out)
    assert (data["Greet"]["ok"], data["Greet"]["result"]["text"]) == (True, "hello Ann")
    assert (data["Fail"]["ok"], data["Fail"]["error"]["code"]) == (False, "ERR_EXPECTATION")


def test_events_are_lines_of_json_that_end_with_finish(tmp_path: Path) -> None:
    ended = apply(tmp_path, "!ref Writer", "--prompt", "greet Bo", "--output", "events")
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert "".join(event["text"] for event in events if event["type"] == "text-delta") == "hello Bo"
    assert events[-1]["type"] == "finish"


def test_inputs_are_text_or_json(tmp_path: Path) -> None:
    assert apply(tmp_path, "!ref Greet", "--input", 'who:="Cy"').out == "hello Cy\n"
    assert apply(tmp_path, "!ref Greet", "--input", "who:=7").code == 4


@pytest.mark.parametrize("word", ["who", "=x", "who:={"])
def test_a_faulty_input_is_wrong_usage(tmp_path: Path, word: str) -> None:
    assert apply(tmp_path, "!ref Greet", "--input", word).code == 2


def test_a_prompt_goes_to_the_agent_that_is_no_part_of_another(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(
        """\
kind: Ai.Agent
metadata: { name: Chief }
model: { kind: Ai.ScriptedModel, turns: [{ text: chief speaking }] }
toolProviders: [{ provider: { kind: Ai.Tools, tools: [{ tool: !ref Helper, parameters: {} }] } }]
---
kind: Ai.Agent
metadata: { name: Helper }
model: { kind: Ai.ScriptedModel, turns: [{ text: helper speaking }] }
"""
    )
    assert run(tmp_path, "apply", "two.yaml", "--quiet", "--prompt", "hi").out == "chief speaking\n"


def test_a_structured_answer_is_printed_as_its_json_alone(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(
        """\
kind: Ai.Agent
metadata: { name: Counter }
model: { kind: Ai.ScriptedModel, turns: [{ text: none }, { text: "Here:\\n```json\\n{\\"n\\": 3}\\n```" }] }
output: { schema: { type: object } }
"""
    )

    ended = run(tmp_path, "apply", "app.yaml", "--quiet", "--prompt", "count")

    assert ended == (0, '{"n":3}\n', "")


ENDS = """\
kind: Ai.Completion
metadata: { name: Main }
model: { kind: Ai.ScriptedModel, turns: [{ text: so far, REST }] }
"""
CUT = "warning: Main: the answer is cut off: the model reached its limit of tokens\n"
HELD = "warning: Main: the provider held the answer back, or a part of it\n"


@pytest.mark.parametrize(
    ("reason", "told"), [("length", CUT), ("content-filter", HELD), ("stop", ""), ("other", "")], ids=lambda each: each
)
def test_an_answer_that_is_less_than_it_looks_is_warned_of(reason: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(ENDS.replace("REST", f"finishReason: {reason}"))
    for output in ("text", "json", "events"):
        ended = run(tmp_path, "apply", "app.yaml", "--prompt", "go", "--quiet", "--output", output)
        assert (ended.code, ended.err) == (0, told)


def test_a_text_before_unmade_calls_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(ENDS.replace("REST", "toolCalls: [{ name: act, allowUnknown: true }]"))
    ended = run(tmp_path, "apply", "app.yaml", "--prompt", "go", "--quiet")
    shown = "the model still wanted tools in its last turn; this is the text that there is"
    assert (ended.code, ended.out, ended.err) == (0, "so far\n", f"warning: Main: {shown}\n")


def test_a_line_that_a_failure_cuts_short_is_ended_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(ENDS.replace("REST", "error: { message: broke off }"))
    with on_terminal(tmp_path, "apply", "app.yaml", "--prompt", "go", "--quiet", "--no-color") as terminal:
        assert terminal.wait() == 4
    assert terminal.shown.startswith("so far\nerror: ")


@pytest.mark.parametrize("text", ["one line", "two\\nlines\\n"])
def test_a_whole_answer_ends_its_line_once_on_a_terminal(text: str, tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(ENDS.replace("so far, REST", f'"{text}"'))
    with on_terminal(tmp_path, "apply", "app.yaml", "--prompt", "go", "--quiet", "--no-color") as terminal:
        assert terminal.wait() == 0
    assert terminal.shown == text.replace("\\n", "\n").rstrip("\n") + "\n"
