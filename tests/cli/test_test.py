"""`runtime test` as people and CI run it."""

import os
import re
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from command import Ended, left_behind, run
from servers.chat import Answer, Calls, serve_chat

HOSTILE = Path(__file__).parent.parent / "servers/hostile.py"
SET = f"""\
kind: AiOpenai.OpenaiModel
metadata: {{ name: Gpt }}
model: gpt-4o-mini
baseUrl: "${{{{ variables.modelUrl }}}}"
apiKey: "${{{{ secrets.modelKey }}}}"
---
kind: Mcp.StdioClient
metadata: {{ name: Server }}
command: {sys.executable}
args: ["{HOSTILE}", ""]
---
kind: Ai.Agent
metadata: {{ name: Assistant }}
model: !ref Gpt
toolProviders: [{{ provider: {{ kind: AiMcp.ToolProvider, client: !ref Server }}, prefix: s_ }}]
---
kind: Runtime.Application
metadata: {{ name: App }}
variables: {{ modelUrl: {{}} }}
secrets: {{ modelKey: {{}} }}
"""
CASE = """\
---
kind: Test.Case
metadata: { name: NAME }
agent: !ref Assistant
prompt: Say NAME.
cassette: tapes/NAME
expect:
  text: { equals: "said NAME" }
  tools: { called: [{ name: s_echo, arguments: { text: NAME } }], only: true }
  that: [!cel "result.steps[0].toolCalls[0].name == 's_echo'"]
  maxSteps: 2
  maxTokens: 30
"""
KEY = {"MODEL_KEY": "mk-4711-secret-key"}


def answer(request: dict[str, object]) -> Answer:
    """Echo the word of the prompt, and then say it."""
    messages = request["messages"]
    assert isinstance(messages, list)
    word = messages[-1]["content"].removeprefix("Say ").rstrip(".")
    return f"said {word}" if messages[-1]["role"] == "tool" else Calls([("s_echo", {"text": word})])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    """Three cases, recorded against a real server and a model on loopback."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "set.yaml").write_text(SET)
    (folder / "set.test.yaml").write_text("".join(CASE.replace("NAME", name) for name in ("One", "Two", "Six")))
    with serve_chat(answer) as model:
        ended = run(folder, "test", "set.yaml", "--record-missing", **KEY, MODEL_URL=model.base_url)
    return folder, ended


@pytest.fixture
def folder(recorded: tuple[Path, Ended], tmp_path: Path) -> Path:
    """Those cases, with no server, no model and no key; what a test changes is its own."""
    shutil.copytree(recorded[0], tmp_path, dirs_exist_ok=True)
    text = (tmp_path / "set.yaml").read_text()
    (tmp_path / "set.yaml").write_text(text.replace(sys.executable, "no-such-command"))
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    """Replace the first place in a file where it says `old`."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def shown(ended: Ended) -> str:
    """Standard output without the times."""
    return re.sub(r"\d+\.\d+ s", "T", ended.out)


def test_what_is_missing_is_recorded_and_told(recorded: tuple[Path, Ended]) -> None:
    folder, ended = recorded

    assert ended.code == 0, ended.out + ended.err
    lines = shown(ended).splitlines()
    assert sorted(lines[:3]) == [
        "set.test.yaml:14: Two recorded in T",
        "set.test.yaml:26: Six recorded in T",
        "set.test.yaml:2: One recorded in T",
    ]
    assert lines[3] == "3 passed, 0 failed, 3 recorded in T"
    assert lines[4].startswith("slowest: ")
    files = [path.read_bytes() for path in (folder / "tapes").rglob("*.yaml")]
    assert (len(files), any(KEY["MODEL_KEY"].encode() in data for data in files)) == (6, False)
    assert left_behind(folder) == []


@pytest.mark.parametrize("path", ["set.yaml", "set.test.yaml", "."])
def test_recorded_cases_pass_with_nothing_there(path: str, folder: Path) -> None:
    ended = run(folder, "test", path)

    assert (ended.code, ended.err) == (0, "")
    assert shown(ended).startswith("3 passed, 0 failed in T\nslowest: ")


@pytest.mark.parametrize(
    ("file", "old", "new", "diff"),
    [
        ("set.test.yaml", "prompt: Say Two.", "prompt: Say Too.", ["-    content: Say Two.", "+    content: Say Too."]),
        (
            "tapes/Two/Server.yaml",
            "properties: {}",
            "properties: { text: { type: string } }",
            ["-      properties: {}", "+      properties:", "+        text:", "+          type: string"],
        ),
        ("tapes/Two/Gpt.yaml", "text: said Two", "text: said too", ["-said Two", "+said too"]),
    ],
    ids=["prompt", "schema", "answer"],
)
def test_a_change_fails_exactly_the_case_that_it_is_about(
    file: str, old: str, new: str, diff: list[str], folder: Path
) -> None:
    change(folder / file, old, new)

    ended = run(folder, "test", "set.yaml")

    lines = shown(ended).splitlines()
    assert ended.code == 5
    assert [line for line in lines if line.endswith("failed")] == ["set.test.yaml:14: Two failed"]
    assert "2 passed, 1 failed in T" in lines
    assert [line[6:] for line in lines if line[6:7] in ("+", "-")] == diff


def test_a_pattern_chooses_cases_and_none_is_wrong_usage(folder: Path) -> None:
    chosen = run(folder, "test", "set.yaml", "-k", "tw", "--verbose")
    none = run(folder, "test", "set.yaml", "-k", "seven")

    assert shown(chosen) == "set.test.yaml:14: Two passed in T\n1 passed, 0 failed in T\n"
    assert (none.code, none.err) == (
        2,
        'error: no case fits "seven" [ERR_USAGE]\n    hint: there are: One, Two, Six\n',
    )


def test_a_set_without_cases_and_one_with_faults_end_with_their_codes(folder: Path) -> None:
    (folder / "set.test.yaml").unlink()
    none = run(folder, "test", "set.yaml")
    change(folder / "set.yaml", "!ref Gpt", "!ref Gpd")
    faulty = run(folder, "test", "set.yaml")

    assert (none.code, none.err.splitlines()[0]) == (2, "error: there is no case to run [ERR_USAGE]")
    assert (faulty.code, "REF_UNRESOLVED" in faulty.err) == (1, True)


def test_cases_in_the_manifest_itself_run_too(folder: Path) -> None:
    (folder / "set.yaml").write_text((folder / "set.yaml").read_text() + (folder / "set.test.yaml").read_text())
    (folder / "set.test.yaml").unlink()

    assert run(folder, "test", "set.yaml", "--quiet") == (0, "", "")


def test_a_file_of_tests_is_validated_with_what_it_tests(folder: Path) -> None:
    fine = run(folder, "validate", "set.test.yaml")
    change(folder / "set.test.yaml", "!ref Assistant", "!ref Assistent")
    faulty = run(folder, "validate", ".", "--output", "github")

    assert fine == (0, "7 documents: 0 errors, 0 warnings\n", "")
    assert faulty.out.startswith("::error file=set.test.yaml,line=4,col=8,title=REF_UNRESOLVED::")


def test_results_as_json(folder: Path) -> None:
    change(folder / "set.test.yaml", 'equals: "said Six"', 'equals: "said six"')

    ended = run(folder, "test", "set.yaml", "--output", "json", "--coverage")

    data = msgspec.json.decode(ended.out)
    assert (ended.code, data["ok"], data["passed"], data["failed"]) == (5, False, 2, 1)
    assert [(case["name"], case["file"], case["line"], case["ok"]) for case in data["cases"]] == [
        ("One", "set.test.yaml", 2, True),
        ("Two", "set.test.yaml", 14, True),
        ("Six", "set.test.yaml", 26, False),
    ]
    assert data["cases"][2]["failures"] == [
        {"expectation": "text.equals", "message": "the text is another one", "diff": ["-said six", "+said Six"]}
    ]
    assert data["cases"][2]["result"]["text"] == "said Six"
    assert sorted(data["slowest"]) == ["One", "Six", "Two"]
    (coverage,) = data["coverage"]
    assert [(tool["name"], tool["called"]) for tool in coverage["agents"][0]["tools"]] == [
        ("s_echo", True),
        ("s_seen", False),
        ("s_pid", False),
    ]


def test_results_as_junit(folder: Path) -> None:
    change(folder / "set.test.yaml", 'equals: "said Six"', 'equals: "said six"')

    ended = run(folder, "test", "set.yaml", "--output", "junit")

    root = ElementTree.fromstring(ended.out)
    cases = root.findall("testsuite/testcase")
    assert (ended.code, root.get("tests"), root.get("failures")) == (5, "3", "1")
    assert [(case.get("name"), case.get("classname")) for case in cases] == [
        ("One", "set.test.yaml"),
        ("Two", "set.test.yaml"),
        ("Six", "set.test.yaml"),
    ]
    (failure,) = root.findall("testsuite/testcase/failure")
    assert failure.get("message") == "text.equals: the text is another one"
    assert failure.text is not None and failure.text.endswith("      -said six\n      +said Six")


def test_coverage_as_text_and_as_a_page(folder: Path) -> None:
    ended = run(folder, "test", "set.yaml", "--quiet", "--coverage", "--coverage-html", "coverage.html")

    assert ended.out.splitlines() == [
        "coverage: 1 of 1 agents, 1 of 1 providers, 1 of 3 offered tools",
        "    tool s_seen of Assistant: called by no case",
        "    tool s_pid of Assistant: called by no case",
    ]
    assert '<tr class="no"><td>s_pid</td>' in (folder / "coverage.html").read_text()


def test_update_records_anew_the_cases_that_run(folder: Path) -> None:
    change(folder / "set.yaml", "no-such-command", sys.executable)
    change(folder / "set.test.yaml", "prompt: Say Two.", "prompt: Say Two!")
    before = (folder / "tapes/One/Gpt.yaml").stat().st_mtime_ns

    with serve_chat(lambda request: "other") as model:
        ended = run(folder, "test", "set.yaml", "--update", "-k", "Two", **KEY, MODEL_URL=model.base_url)

    assert ended.code == 5
    assert "+other" in ended.out
    assert 'content: "Say Two!"' in (folder / "tapes/Two/Gpt.yaml").read_text()
    assert (folder / "tapes/One/Gpt.yaml").stat().st_mtime_ns == before


def test_nothing_is_recorded_in_ci(folder: Path) -> None:
    ended = run(folder, "test", "set.yaml", "--update", CI="true")

    assert (ended.code, ended.err.splitlines()[0]) == (
        2,
        "error: nothing is recorded in CI, where CI is set [ERR_USAGE]",
    )


def test_apply_asks_the_agent_although_a_case_refers_to_it(folder: Path) -> None:
    (folder / "more.yaml").write_text(
        (folder / "set.yaml").read_text() + "---\nkind: Ai.Completion\nmetadata: { name: Writer }\nmodel: !ref Gpt\n"
    )

    ended = run(folder, "apply", "more.yaml", "set.test.yaml", "--prompt", "x")

    assert ended.code == 2
    assert "the set has 2 agents" in ended.err


def test_two_hundred_cases_take_at_most_twelve_times_the_time_of_one(folder: Path) -> None:
    """By the processor's time, which other work on the machine does not count in."""
    names = [f"Case{number}" for number in range(200)]
    text = CASE.replace("{ name: NAME }", "{ name: CASE }").replace("NAME", "Two")
    (folder / "many.test.yaml").write_text("".join(text.replace("CASE", name) for name in names))
    (folder / "many.yaml").write_text((folder / "set.yaml").read_text())
    (folder / "one.test.yaml").write_text(text.replace("CASE", "One"))
    (folder / "one.yaml").write_text((folder / "set.yaml").read_text())

    def measure(file: str, summary: str) -> float:
        before = processor_time()
        ended = run(folder, "test", file)
        assert shown(ended).startswith(summary), ended.out
        return processor_time() - before

    one = min(measure("one.test.yaml", "1 passed") for _ in range(3))
    many = measure("many.test.yaml", "200 passed")

    assert many / one <= 12


def processor_time() -> float:
    """Seconds that the child processes of this one have used so far."""
    times = os.times()
    return float(times.children_user + times.children_system)
