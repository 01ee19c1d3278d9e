"""Cases as they run: what takes the place of what, what is recorded, what fails which case."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from runtime.checks import check
from runtime.errors import UsageError
from runtime.lock.definition import find_clients
from runtime.manifest import Source
from runtime.testing.running import CaseRunner, Outcome, choose_records, run_cases
from runtime.testing.setup import find_cases

pytestmark = pytest.mark.anyio

LIVE = """\
kind: AiOpenai.OpenaiModel
metadata: { name: Gpt }
model: gpt-4o-mini
baseUrl: http://127.0.0.1:9
apiKey: "${{ secrets.modelKey }}"
---
kind: Mcp.StdioClient
metadata: { name: Files }
command: no-such-command
env: { TOKEN: "${{ secrets.serverToken }}" }
---
"""
SCRIPTED = """\
kind: Ai.FallbackModel
metadata: { name: Gpt }
models: [!ref Script, !ref Script]
---
kind: Mcp.ScriptedServer
metadata: { name: Files }
tools:
  - name: read
    inputSchema: { type: object, properties: { path: { type: string } } }
    answers: [{ text: milk }]
---
"""
REST = """\
kind: AiMcp.ToolProvider
metadata: { name: Tools }
client: !ref Files
---
kind: Ai.Agent
metadata: { name: Assistant }
model: !ref Gpt
system: "The word is ${{ secrets.word }}."
toolProviders: [{ provider: !ref Tools, prefix: fs_ }]
---
kind: Ai.Task
metadata: { name: Summary }
agent: !ref Assistant
prompt: "Read ${{ inputs.path }}"
---
kind: Ai.ScriptedModel
metadata: { name: Script }
rules:
  - when: { user: "read (?P<path>\\\\S+)" }
    toolCalls: [{ name: fs_read, arguments: { path: "${{ match.path }}" } }]
  - when: { toolResult: . }
    text: "it says: ${{ result }}"
---
kind: Mcp.ScriptedServer
metadata: { name: Fake }
tools:
  - name: read
    inputSchema: { type: object, properties: { path: { type: string } }, required: [path] }
    answers:
      - { when: { path: a.txt }, text: milk }
      - { when: { path: slow }, text: late, delayMs: 60000 }
---
"""


def case(name: str, **fields: Any) -> str:
    """A case over scripts, unless the fields say otherwise; a field that is None is left out."""
    import msgspec

    given: dict[str, Any] = {
        "agent": "!ref Assistant",
        "prompt": '"Read a.txt"',
        "model": "!ref Script",
        "mcp": "{ Files: !ref Fake }",
        **{
            key: value if isinstance(value, str) or value is None else msgspec.json.encode(value).decode()
            for key, value in fields.items()
        },
    }
    lines = [f"{key}: {value}" for key, value in given.items() if value is not None]
    return f"kind: Test.Case\nmetadata: {{ name: {name} }}\n" + "\n".join(lines) + "\n---\n"


async def run(
    folder: Path, text: str, *, environment: Mapping[str, str] | None = None, records: Any = "nothing", jobs: int = 2
) -> list[Outcome]:
    checked = check([Source("set.yaml", (LIVE + REST + text).rstrip("-\n").encode(), str(folder))])
    assert [found for found in checked.diagnostics if found.severity == "error"] == []
    runner = CaseRunner(checked, records=records, environment=environment or {})
    with anyio.fail_after(30):
        return await run_cases(runner, find_cases(checked), jobs=jobs)


def told(outcomes: list[Outcome]) -> list[list[str]]:
    return [[failure.message for failure in outcome.failures] for outcome in outcomes]


async def test_scripts_take_the_place_of_model_and_server_and_no_secret_is_needed(tmp_path: Path) -> None:
    (outcome,) = await run(tmp_path, case("Reads", expect={"text": {"equals": "it says: milk"}}))

    assert outcome.failures == []
    assert outcome.result["steps"][0]["toolCalls"][0]["name"] == "fs_read"


async def test_a_task_is_tested_with_its_inputs(tmp_path: Path) -> None:
    cases = [
        case(
            "Good",
            agent=None,
            task="!ref Summary",
            prompt=None,
            inputs={"path": "a.txt"},
            expect={"text": {"contains": "milk"}},
        ),
        case("Bad", agent=None, task="!ref Summary", prompt=None, inputs={"path": "b.txt"}),
    ]

    assert told(await run(tmp_path, "".join(cases))) == [
        [],
        ['the script has no answer to a call of "read" with {"path":"b.txt"}'],
    ]


async def test_each_case_fails_for_itself_alone_and_in_the_order_of_the_file(tmp_path: Path) -> None:
    cases = [case(f"C{n}", expect={"text": {"equals": "it says: milk" if n % 3 else "nothing"}}) for n in range(9)]

    outcomes = await run(tmp_path, "".join(cases))

    assert [outcome.name for outcome in outcomes] == [f"C{n}" for n in range(9)]
    assert [outcome.name for outcome in outcomes if not outcome.is_met] == ["C0", "C3", "C6"]
    assert [outcome.line for outcome in outcomes[:2]] == [
        (LIVE + REST).count("\n") + 1,
        (LIVE + REST).count("\n") + cases[0].count("\n") + 1,
    ]


async def test_what_stays_live_needs_its_secrets_and_comes_up(tmp_path: Path) -> None:
    text = case("Live", mcp=None)
    given = {"SERVER_TOKEN": "geheim-token", "WORD": "geheim-wort"}

    missing, failed = await run(tmp_path, text), await run(tmp_path, text, environment=given)

    assert [failure.message for failure in missing[0].failures] == ["it cannot come up: values are missing"]
    assert [line.partition(" ")[2].partition(" (")[0] for line in missing[0].failures[0].diff] == [
        '"secrets.serverToken" has no value',
        '"secrets.word" has no value',
    ]
    assert "no-such-command" in failed[0].failures[0].message
    assert "[ERR_MCP_SPAWN]" in failed[0].failures[0].message


async def test_a_case_is_over_when_its_time_is(tmp_path: Path) -> None:
    (outcome,) = await run(tmp_path, case("Slow", prompt="Read slow", timeoutMs=50))

    assert told([outcome]) == [["the case is not done after 0.05 s"]]


async def test_calls_are_approved_where_the_case_says_so(tmp_path: Path) -> None:
    guarded = """\
kind: Ai.Agent
metadata: { name: Careful }
model: !ref Gpt
toolProviders: [{ provider: !ref Tools, prefix: fs_ }]
requireApproval: [fs_read]
---
"""
    expect = {"text": {"equals": "it says: milk"}}
    cases = [case("Yes", agent="!ref Careful", approve=["fs_*"], expect=expect), case("No", agent="!ref Careful")]

    yes, no = await run(tmp_path, guarded + "".join(cases))

    assert yes.failures == []
    assert no.result["text"] == 'it says: the call of the tool "fs_read" was not approved: the case does not approve it'


async def test_an_expected_error_is_what_the_case_is_about(tmp_path: Path) -> None:
    cases = [
        case("Right", prompt="Dance", expect={"error": "ERR_MODEL_SCRIPT"}),
        case("Wrong", prompt="Dance", expect={"error": "ERR_AGENT_MAX_STEPS"}),
    ]

    right, wrong = await run(tmp_path, "".join(cases))

    assert (right.failures, right.result["error"]["code"]) == ([], "ERR_MODEL_SCRIPT")
    assert wrong.failures[0].diff == ["-ERR_AGENT_MAX_STEPS", "+ERR_MODEL_SCRIPT"]


RECORDED = case("Taped", model=None, mcp=None, cassette="tape", expect={"text": {"equals": "it says: milk"}})


async def run_scripted(
    folder: Path, text: str, change: tuple[str, str] = ("The word", "The word"), **more: Any
) -> list[Outcome]:
    """The set with scripts for what a cassette is recorded of."""
    manifest = (SCRIPTED + REST).replace(*change) + text.rstrip("-\n")
    checked = check([Source("set.yaml", manifest.encode(), str(folder))])
    assert [found for found in checked.diagnostics if found.severity == "error"] == []
    runner = CaseRunner(checked, environment={"WORD": "geheim-wort"}, **more)
    with anyio.fail_after(30):
        return await run_cases(runner, find_cases(checked), jobs=2)


async def test_a_cassette_that_is_missing_fails_the_case_until_it_is_recorded(tmp_path: Path) -> None:
    before = await run_scripted(tmp_path, RECORDED)
    recorded = await run_scripted(tmp_path, RECORDED, records="missing")
    again = await run_scripted(tmp_path, RECORDED, records="missing")

    assert before[0].failures[0].message.startswith("there is no cassette ")
    assert [(each.is_met, each.is_recorded) for each in (*recorded, *again)] == [(True, True), (True, False)]
    assert "geheim" not in "".join(path.read_text() for path in (tmp_path / "tape").glob("*.yaml"))


async def test_a_changed_prompt_schema_or_limit_fails_the_case_with_its_difference(tmp_path: Path) -> None:
    await run_scripted(tmp_path, RECORDED, records="missing")

    prompt = await run_scripted(tmp_path, RECORDED.replace("Read a.txt", "Read b.txt"))
    system = await run_scripted(tmp_path, RECORDED, ("The word is", "Your word is"))
    tape = tmp_path / "tape/Files.yaml"
    tape.write_text(tape.read_text().replace("type: string", "type: number"))
    schema = await run_scripted(tmp_path, RECORDED)

    changed = [
        [line.strip() for line in outcome.failures[0].diff if line[0] in "+-"]
        for outcome in (*prompt, *system, *schema)
    ]
    assert changed == [
        ["-    content: Read a.txt", "+    content: Read b.txt"],
        ['-    content: "The word is ***."', '+    content: "Your word is ***."'],
        ["-          type: string", "+          type: number"],
    ]


async def test_a_changed_answer_fails_what_is_expected_of_it(tmp_path: Path) -> None:
    await run_scripted(tmp_path, RECORDED, records="missing")
    tape = tmp_path / "tape/Script.yaml"
    tape.write_text(tape.read_text().replace("it says: milk", "it said: milk"))

    (outcome,) = await run_scripted(tmp_path, RECORDED)

    assert outcome.failures[0].diff == ["-it says: milk", "+it said: milk"]


async def test_what_was_recorded_and_is_not_asked_for_fails_a_strict_case_and_is_told_by_a_lenient_one(
    tmp_path: Path,
) -> None:
    await run_scripted(tmp_path, RECORDED, records="missing")
    tape = tmp_path / "tape/Files.yaml"
    tape.write_text(
        tape.read_text()
        + "---\nexchange: 2\nrequest: { name: read, arguments: {} }\nanswer: { result: { content: [] } }\n"
    )
    lenient = RECORDED.replace("cassette: tape", "cassette: { path: tape, mode: lenient }")

    outcomes = [*(await run_scripted(tmp_path, RECORDED)), *(await run_scripted(tmp_path, lenient))]

    unused = 'was recorded and not asked for: exchange 2 of "Files": a call of "read"'
    assert told(outcomes) == [[unused], []]
    assert [outcome.warnings for outcome in outcomes] == [[], [unused]]


async def test_rules_of_the_case_leave_out_what_differs_each_time(tmp_path: Path) -> None:
    await run_scripted(tmp_path, RECORDED, records="missing")
    other = RECORDED.replace("Read a.txt", "Read b.txt")
    ignoring = other.replace("cassette: tape", 'cassette: { path: tape, ignore: { Script: ["/messages/1/content"] } }')

    assert [
        outcome.is_met for outcome in (*await run_scripted(tmp_path, other), *await run_scripted(tmp_path, ignoring))
    ] == [
        False,
        True,
    ]


async def test_a_script_goes_before_the_cassette_and_what_it_replaces_is_not_recorded(tmp_path: Path) -> None:
    text = case("Half", model=None, mcp="{ Files: !ref Fake }", cassette="half", expect={"text": {"contains": "milk"}})

    recorded = await run_scripted(tmp_path, text, records="all")
    replayed = await run_scripted(tmp_path, text)

    assert [outcome.failures for outcome in (*recorded, *replayed)] == [[], []]
    assert sorted(path.name for path in (tmp_path / "half").iterdir()) == ["Script.yaml"]


async def test_cases_that_share_a_cassette_record_it_once(tmp_path: Path) -> None:
    both = RECORDED + RECORDED.replace("name: Taped", "name: Also")

    outcomes = await run_scripted(tmp_path, both, records="all")

    assert sorted(outcome.is_recorded for outcome in outcomes) == [False, True]
    assert [outcome.is_met for outcome in outcomes] == [True, True]


TAPES = """\
kind: Test.Cassette
metadata: { name: Model }
path: tapes/model
---
kind: Test.Cassette
metadata: { name: Server }
path: tapes/server
mode: lenient
---
"""


async def test_a_cassette_of_its_own_takes_the_place_of_a_model_or_of_a_client(tmp_path: Path) -> None:
    model = case("Model_", model="!ref Model", mcp=None, expect={"text": {"equals": "it says: milk"}})
    server = case("Server_", model="!ref Script", mcp="{ Files: !ref Server }", expect={"maxSteps": 2})
    both = case("Both", model="!ref Model", mcp="{ Files: !ref Server }")
    inline = case("Inline", model="{ kind: Test.Cassette, path: tapes/model }", mcp="{ Files: !ref Server }")

    await run_scripted(tmp_path, TAPES + model + server, records="missing")
    replayed = await run_scripted(tmp_path, TAPES + both + inline)
    live = await run_scripted(tmp_path, TAPES + model + server)

    assert sorted(os.listdir(tmp_path / "tapes/model")) == ["Script.yaml"]
    assert sorted(os.listdir(tmp_path / "tapes/server")) == ["Files.yaml"]
    assert told([*live, *replayed]) == [[], [], [], []]


async def test_the_rules_of_a_cassette_hold_for_what_it_answers(tmp_path: Path) -> None:
    text = TAPES + case("Tape", model="!ref Model", mcp="{ Files: !ref Fake }")
    await run_scripted(tmp_path, text, records="missing")

    strict = await run_scripted(tmp_path, text.replace("Read a.txt", "Read b.txt"))
    ignoring = text.replace("path: tapes/model", 'path: tapes/model\nignore: { Script: ["/messages/1/content"] }')
    other = await run_scripted(tmp_path, ignoring.replace("Read a.txt", "Read b.txt"))

    assert [outcome.is_met for outcome in (*strict, *other)] == [False, True]


async def test_a_cassette_is_no_client_that_could_be_replaced_or_locked(tmp_path: Path) -> None:
    text = SCRIPTED + REST + TAPES + case("Tape", model=None, mcp="{ Server: !ref Fake }")

    checked = check([Source("set.yaml", text.rstrip("-\n").encode(), str(tmp_path))])

    assert [found.message for found in checked.diagnostics if found.severity == "error"] == [
        'the set has no client "Server"'
    ]
    assert list(find_clients(checked.resources)) == ["Files", "Fake"]


async def test_a_cassette_answers_in_cases_alone(tmp_path: Path) -> None:
    text = case("Agent", agent="{ kind: Ai.Agent, model: !ref Model }", model=None, mcp=None)

    (outcome,) = await run_scripted(tmp_path, TAPES + text)

    assert "a cassette answers in test cases alone" in outcome.failures[0].message


async def test_cases_that_run_beside_each_other_record_what_is_missing_once(tmp_path: Path) -> None:
    both = RECORDED + RECORDED.replace("name: Taped", "name: Also")

    outcomes = await run_scripted(tmp_path, both, records="missing")

    assert sorted(outcome.is_recorded for outcome in outcomes) == [False, True]
    assert told(outcomes) == [[], []]


async def test_what_a_cassette_does_not_have_is_recorded_behind_what_it_has(tmp_path: Path) -> None:
    await run_scripted(tmp_path, RECORDED, records="missing")
    model, server = tmp_path / "tape/Script.yaml", tmp_path / "tape/Files.yaml"
    was = (model.read_text().replace("it says: milk", "it said: milk"), server.read_text())
    model.write_text(was[0])
    longer = RECORDED.replace('equals": "it says: milk', 'equals": "it said: milk')
    two = longer.replace("name: Taped", "name: Second").replace("Read a.txt", "Read b.txt")

    extended = await run_scripted(tmp_path, two.replace("it said", "it says"), records="missing")
    unchanged = await run_scripted(tmp_path, RECORDED.replace("it says", "it said"), records="missing")

    assert [outcome.is_recorded for outcome in (*extended, *unchanged)] == [True, False]
    assert model.read_text().startswith(was[0]) and model.read_text().count("exchange: ") == 4
    assert server.read_text().startswith(was[1]) and server.read_text().count("exchange: ") == 2
    assert "geheim" not in model.read_text()


async def test_a_resource_that_is_new_in_a_cassette_is_recorded_beside_the_others(tmp_path: Path) -> None:
    model = case("Model_", model="!ref Model", mcp=None)
    both = case("Both", model="!ref Model", mcp="{ Files: !ref Model }")

    await run_scripted(tmp_path, TAPES + model, records="missing")
    (extended,) = await run_scripted(tmp_path, TAPES + both, records="missing")
    replayed = await run_scripted(tmp_path, TAPES + both + model)

    assert (extended.is_recorded, told([extended, *replayed])) == (True, [[], [], []])
    assert sorted(os.listdir(tmp_path / "tapes/model")) == ["Files.yaml", "Script.yaml"]


def test_nothing_is_recorded_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    assert choose_records(missing=False, every=False) == "nothing"
    with pytest.raises(UsageError, match="nothing is recorded in CI"):
        choose_records(missing=True, every=False)
    monkeypatch.setenv("CI", "false")
    assert choose_records(missing=False, every=True) == "all"


async def test_a_client_that_stands_inline_is_named_by_its_place(tmp_path: Path) -> None:
    inline = """\
kind: Ai.Agent
metadata: { name: Inline }
model: !ref Gpt
toolProviders:
  - { provider: { kind: AiMcp.ToolProvider, client: { kind: Mcp.StdioClient, command: nothing } }, prefix: fs_ }
---
"""
    mcp = '{ "Inline.toolProviders[0].provider.client": !ref Fake }'
    expect = {"text": {"equals": "it says: milk"}}

    (outcome,) = await run(tmp_path, inline + case("Reads", agent="!ref Inline", mcp=mcp, expect=expect))

    assert outcome.failures == []
