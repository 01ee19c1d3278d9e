"""`Python.Function`: functions of files and of installed modules, as tools and by themselves."""

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest
from command import run

import runtime
from runtime import StartError, ToolError
from runtime.checks import check
from runtime.manifest import Source

pytestmark = pytest.mark.anyio

BIRDS = """
import dataclasses, datetime, threading, time
from runtime import ToolError
from runtime.ai import Image, Text

_hidden = 1
HERE = threading.get_ident()

def count(place, *, bird="heron"):
    return {"place": place, "bird": bird}

async def watch(hours: int):
    return [hours, threading.get_ident() == HERE]

def anything(**inputs):
    return inputs

def placed(first, /, second=1):
    return first

def fail(text=""):
    raise LookupError(text) if text else StopIteration

def leave():
    raise SystemExit(3)

def refuse():
    raise ToolError("no", code="ERR_MINE")

@dataclasses.dataclass
class Sighting:
    on: datetime.date

def give(what):
    loop = []
    loop.append(loop)
    return {
        "date": lambda: Sighting(datetime.date(2026, 5, 1)), "set": lambda: {1}, "none": lambda: None, "object": object,
        "loop": lambda: loop, "parts": lambda: [Text("a"), Image("aGk=", "image/png")], "coroutine": lambda: watch(2),
    }[what]()

def sleep():
    time.sleep(600)
"""


def write(folder: Path, function: str, imports: str = "{ birds: ./birds.py }", more: str = "") -> str:
    (folder / "birds.py").write_text(BIRDS)
    path = folder / "manifest.yaml"
    head = f"kind: Runtime.Application\nmetadata: {{ name: App }}\nimports: {imports}\n---\n" if imports else ""
    path.write_text(f"{head}kind: Python.Function\nmetadata: {{ name: F }}\nfunction: {function}\n{dedent(more)}")
    return str(path)


async def call(folder: Path, function: str, imports: str = "{ birds: ./birds.py }", **inputs: Any) -> Any:
    async with runtime.open_manifests(write(folder, function, imports), names=["F"]) as live:
        with anyio.fail_after(20):
            return await live["F"].invoke(inputs)


def find(path: str) -> list[str]:
    source = Source("manifest.yaml", Path(path).read_bytes(), str(Path(path).parent))
    return [
        f"{found.line}:{found.column} {found.code} {found.message}" + (f" / {found.hint}" if found.hint else "")
        for found in check([source]).diagnostics
    ]


async def test_inputs_are_the_arguments_by_name(tmp_path: Path) -> None:
    assert await call(tmp_path, "birds:count", place="pond") == {"place": "pond", "bird": "heron"}
    assert await call(tmp_path, "birds:count", place="pond", bird="owl") == {"place": "pond", "bird": "owl"}
    assert await call(tmp_path, "birds:anything", a=1, b=[2]) == {"a": 1, "b": [2]}


async def test_async_function_runs_in_the_loop_and_another_in_a_thread(tmp_path: Path) -> None:
    assert await call(tmp_path, "birds:watch", hours=3) == [3, True]

    assert await call(tmp_path, "birds:give", what="coroutine") == [2, True]


@pytest.mark.parametrize(("what", "result"), [("date", {"on": "2026-05-01"}), ("set", [1]), ("none", None)])
async def test_result_is_a_json_value(tmp_path: Path, what: str, result: Any) -> None:
    assert await call(tmp_path, "birds:give", what=what) == result


async def test_parts_of_a_message_are_left_as_they_are(tmp_path: Path) -> None:
    from runtime.ai import Image, Text

    assert await call(tmp_path, "birds:give", what="parts") == [Text("a"), Image("aGk=", "image/png")]


@pytest.mark.parametrize(
    ("function", "inputs", "code", "message"),
    [
        ("fail", {"text": "no heron"}, "ERR_PYTHON_EXCEPTION", "LookupError: no heron"),
        ("fail", {}, "ERR_PYTHON_EXCEPTION", "StopIteration"),
        ("leave", {}, "ERR_PYTHON_EXCEPTION", "SystemExit: 3"),
        ("refuse", {}, "ERR_MINE", "no"),
        (
            "count",
            {"bird": "owl", "size": 1},
            "ERR_PYTHON_INPUT",
            'the inputs do not fit: "place" is missing, "size" is not known; the inputs are: place, bird (optional)',
        ),
        (
            "give",
            {"what": "object"},
            "ERR_PYTHON_RESULT",
            "the function gave back what is no JSON value: Encoding objects of type object is unsupported",
        ),
    ],
)
async def test_failure_is_an_error_of_the_tool(
    tmp_path: Path, function: str, inputs: dict[str, Any], code: str, message: str
) -> None:
    with pytest.raises(ToolError) as raised:
        await call(tmp_path, f"birds:{function}", **inputs)

    assert (raised.value.code, raised.value.message) == (code, message)


async def test_result_without_an_end_is_an_error_of_the_tool(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as raised:
        await call(tmp_path, "birds:give", what="loop")

    assert raised.value.code == "ERR_PYTHON_RESULT"


async def test_cancelling_does_not_wait_for_a_function_that_blocks(tmp_path: Path) -> None:
    async with runtime.open_manifests(write(tmp_path, "birds:sleep"), names=["F"]) as live:
        with anyio.move_on_after(0.05) as scope:
            await live["F"].invoke({})

    assert scope.cancelled_caught


async def test_file_of_a_folder_and_installed_module(tmp_path: Path) -> None:
    (tmp_path / "nature").mkdir()
    (tmp_path / "nature" / "trees.py").write_text("def plant(kind):\n    return kind.upper()\n")

    assert await call(tmp_path, "nature.trees:plant", "{ nature: ./nature }", kind="oak") == "OAK"
    assert await call(tmp_path, "stats:median", "{ stats: python:statistics }", data=[3, 1, 2]) == 2
    assert await call(tmp_path, "text:dedent", "{ text: python:textwrap }", text="  a") == "a"


def test_validate_does_not_import_an_installed_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "colorsys"
    monkeypatch.delitem(sys.modules, name, raising=False)  # another test may have needed it

    assert find(write(tmp_path, "c:rgb_to_hls", f"{{ c: python:{name} }}")) == []
    assert name not in sys.modules


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("c:rgb_to_gold", '"c": there is no function "rgb_to_gold"'),
        ("c:ONE_THIRD", '"c": "ONE_THIRD" is no function'),
        ("gone:x", "\"gone\" cannot be imported: No module named 'json.gone'"),
    ],
)
async def test_installed_module_without_it_does_not_start(tmp_path: Path, function: str, message: str) -> None:
    with pytest.raises(StartError) as raised:
        await call(tmp_path, function, "{ c: python:colorsys, gone: python:json.gone }")

    assert (raised.value.message, raised.value.resource) == (message, "F")


@pytest.mark.parametrize(
    ("function", "imports", "found"),
    [
        ("birds:count", "{ birds: ./birds.py }", []),
        (
            "os:system",
            "{ birds: ./birds.py, json: python:json }",
            ['7:11 SCHEMA_VALUE "os" is not in the `imports` of the application / there are: birds, json'],
        ),
        (
            "birds:count",
            "",
            [
                '3:11 SCHEMA_VALUE "birds" is not in the `imports` of the application'
                " / write `imports: { birds: ./FILE.py }` on the application document"
            ],
        ),
        (
            "birds:cuont",
            "{ birds: ./birds.py }",
            [
                '7:11 SCHEMA_VALUE "birds": there is no function "cuont" / there are: Sighting, anything, count, fail,'
                " give, leave, placed, refuse, sleep, watch"
            ],
        ),
        (
            "birds:placed",
            "{ birds: ./birds.py }",
            [
                '7:11 SCHEMA_VALUE "birds": "placed" takes "first" by its place alone, and inputs come by name'
                " / there are: Sighting, anything, count, fail, give, leave, placed, refuse, sleep, watch"
            ],
        ),
        (
            "birds:x",
            "{ birds: ./gone.py }",
            ['3:19 IMPORT_INVALID there is no file or folder "gone.py"'],
        ),
        ("b:x", "{ b: python:no_such_module }", ['3:15 IMPORT_INVALID no Python module "no_such_module" is installed']),
        ("b:x", "{ b: 'python:a b' }", ['3:15 IMPORT_INVALID "a b" is no name of a Python module']),
    ],
)
def test_what_cannot_be_used_is_found_at_its_place(
    tmp_path: Path, function: str, imports: str, found: list[str]
) -> None:
    assert find(write(tmp_path, function, imports)) == found


def test_name_has_to_be_of_the_form(tmp_path: Path) -> None:
    for function in ("birds", "'birds:'", "':count'", "birds:a.b", "'a b:c'", "a.b.c:d"):
        (found,) = find(write(tmp_path, function))
        assert found.startswith("7:11 SCHEMA_VALUE "), found


TOOLS = """
    ---
    kind: Ai.Tools
    metadata: {{ name: Tools }}
    tools:
      - tool: !ref F
        parameters: {{ type: object, {parameters} }}
        {inputs}
    ---
    kind: Ai.ScriptedModel
    metadata: {{ name: Script }}
    turns:
      - toolCalls: [{{ name: F, arguments: {{ place: pond }} }}]
      - text: "${{{{ result }}}}"
    ---
    kind: Ai.Agent
    metadata: {{ name: A }}
    model: !ref Script
    toolProviders: [{{ provider: !ref Tools }}]
"""
PLACE = "properties: { place: { type: string } }, required: [place]"


def as_tool(folder: Path, function: str, parameters: str = PLACE, inputs: str = "") -> str:
    return write(folder, function, more=TOOLS.format(parameters=parameters, inputs=inputs))


async def test_agent_calls_the_function_as_a_tool(tmp_path: Path) -> None:
    async with runtime.open_manifests(as_tool(tmp_path, "birds:count"), names=["A"]) as live:
        answer = await live["A"].invoke({"prompt": "go"})

    assert answer["text"] == '{"place":"pond","bird":"heron"}'


async def test_model_reads_type_and_message_of_an_exception_and_no_traceback(tmp_path: Path) -> None:
    inputs = 'inputs: { text: "${{ arguments.place }} is dry" }'

    async with runtime.open_manifests(as_tool(tmp_path, "birds:fail", inputs=inputs), names=["A"]) as live:
        answer = await live["A"].invoke({"prompt": "go"})

    (result,) = answer["steps"][0]["toolResults"]
    assert (result["content"], result["isError"]) == ("LookupError: pond is dry", True)
    assert (result["code"], answer["text"]) == ("ERR_PYTHON_EXCEPTION", "LookupError: pond is dry")


@pytest.mark.parametrize(
    ("function", "parameters", "inputs", "found"),
    [
        ("birds:count", PLACE, "", []),
        (
            "birds:count",
            "properties: { place: {}, size: {} }",
            "",
            [
                '12:32 SCHEMA_VALUE what runs needs "place", which is not among the `required` parameters'
                " / the inputs are: place, bird (optional)",
                '12:73 SCHEMA_VALUE what runs takes no "size" / the inputs are: place, bird (optional)',
            ],
        ),
        (
            "birds:count",
            PLACE,
            "inputs: { where: here }",
            [
                '13:17 SCHEMA_VALUE what runs needs "place" / the inputs are: place, bird (optional)',
                '13:26 SCHEMA_VALUE what runs takes no "where" / the inputs are: place, bird (optional)',
            ],
        ),
        ("birds:anything", PLACE, "", []),
        ("birds:leave", PLACE, "inputs: {}", []),
    ],
)
def test_inputs_are_checked_against_the_signature(
    tmp_path: Path, function: str, parameters: str, inputs: str, found: list[str]
) -> None:
    lines = find(as_tool(tmp_path, function, parameters, inputs))

    assert [line.partition(" ")[2] for line in lines] == [line.partition(" ")[2] for line in found]


def test_function_that_blocks_does_not_hold_up_the_end_of_the_process(tmp_path: Path) -> None:
    path = as_tool(tmp_path, "birds:sleep", inputs="inputs: {}")
    Path(path).write_text(Path(path).read_text() + "toolTimeoutMs: 50\n")

    ended = run(tmp_path, "apply", path, "--agent", "A", "--prompt", "go", "--quiet")

    assert ended.out == 'the tool "F" did not answer within 0.05 s\n'


def test_edit_of_the_file_is_a_change_of_the_resource(tmp_path: Path) -> None:
    from runtime.reconcile import digest_nodes
    from runtime.resolver import resolve

    def digest() -> str:
        checked = check([Source("manifest.yaml", Path(path).read_bytes(), str(tmp_path))])
        resolved = resolve(checked, [resource for resource, _ in checked.resources.known() if resource.name == "F"], {})
        (node,) = resolved.nodes
        return digest_nodes(resolved)[node]

    path = write(tmp_path, "birds:count")
    before = digest()
    assert digest() == before
    (tmp_path / "birds.py").write_text(BIRDS + "\n# edited\n")
    assert digest() != before
