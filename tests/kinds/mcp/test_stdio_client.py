"""`Mcp.StdioClient` as a manifest declares it."""

import json
import os
import sys

import pytest

from runtime.errors import StartError
from runtime.mcp import ServerInfo

pytestmark = pytest.mark.anyio

ENVIRONMENT = "def call(id, name, arguments): return text(json.dumps([dict(os.environ), os.getcwd(), sys.argv[2:]]))"


def client(*fields: str, code: str = "", args: str = "") -> str:
    more = "".join(f"{field}\n" for field in fields)
    words = f"[-S, -E, HOSTILE, {json.dumps(code)}{args}]"
    return f"kind: Mcp.StdioClient\nmetadata: {{ name: Files }}\ncommand: {sys.executable}\nargs: {words}\n{more}"


async def test_a_client_is_up_and_says_so(apply, report):
    async with apply(client()) as live:
        assert live["Files"].server == ServerInfo("hostile", "1", "2025-11-25", {"tools": {}})

    assert report.summaries == {"Files": "3 tools, MCP 2025-11-25"}


async def test_we_introduce_ourselves_as_the_manifest_says_or_as_the_runtime(apply):
    code = """
def initialize(id, params):
    return {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": params["clientInfo"]}
"""
    servers = []
    for fields in ([], ["clientInfo: { name: my-app, version: 1.0.0 }"]):
        async with apply(client(*fields, code=code)) as live:
            servers.append((live["Files"].server.name, live["Files"].server.version))

    assert servers == [("runtime", "0.1.0"), ("my-app", "1.0.0")]


async def test_a_server_gets_its_environment_folder_and_words(apply, tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    for name in os.environ:
        monkeypatch.delenv(name)
    for name, value in {"HOME": "/h", "LC_TIME": "C", "OPENAI_API_KEY": "k", "MORE": "m"}.items():
        monkeypatch.setenv(name, value)
    fields = ["cwd: work", "inheritEnv: [MORE]", 'env: { TOKEN: "${{ secrets.token }}", PORT: "500" }']
    manifest = client(*fields, code=ENVIRONMENT, args=', ./data, "$(x)"')
    async with apply(manifest, TOKEN="t0ken") as live:
        result = await live["Files"].call_tool("echo", {})
    environment, folder, words = json.loads(result["content"][0]["text"])

    environment.pop("RUNTIME_SERVER_MARK")
    assert environment == {
        "PATH": os.defpath,
        "HOME": "/h",
        "LC_TIME": "C",
        "LC_CTYPE": "C.UTF-8",
        "MORE": "m",
        "TOKEN": "t0ken",
        "PORT": "500",
    }
    assert folder == str(tmp_path / "work")
    assert words == [str(tmp_path / "data"), "$(x)"]


async def test_a_server_that_does_not_start_ends_the_start_with_its_name(apply):
    with pytest.raises(StartError) as caught:
        async with apply("kind: Mcp.StdioClient\nmetadata: { name: Files }\ncommand: no-such-program-4711\n"):
            pass

    assert (caught.value.code, caught.value.resource) == ("ERR_MCP_SPAWN", "Files")
    assert caught.value.message == 'no program "no-such-program-4711" on PATH'


async def test_a_program_that_cannot_be_run_is_told(apply, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    with pytest.raises(StartError) as caught:
        async with apply("kind: Mcp.StdioClient\nmetadata: { name: Files }\ncommand: ./program\n"):
            pass

    assert caught.value.code == "ERR_MCP_SPAWN"
    assert caught.value.message == 'the program "./program" cannot be run: No such file or directory'


async def test_an_optional_server_that_is_not_there_is_a_warning(apply, report):
    async with apply(
        "kind: Mcp.StdioClient\nmetadata: { name: Files }\ncommand: no-such-program-4711\nrequired: false\n"
    ) as live:
        assert await live["Files"].list_tools() == []

    assert report.summaries == {"Files": "not there"}
    assert report.warnings == [
        'Files: no program "no-such-program-4711" on PATH (ERR_MCP_SPAWN); it is optional, the run goes on without its '
        "tools"
    ]


ASKING = """
def take_answer(message):
    reply(waiting, {"content": [], "answer": message.get("result") or message["error"]})
def call(id, name, arguments):
    global waiting
    waiting = id
    send({"id": "q", "method": arguments["method"], "params": arguments["params"]})
    return SILENT
"""


async def ask(live, method: str, **params):
    return (await live["Files"].call_tool("echo", {"method": method, "params": params}))["answer"]


async def test_roots_are_told_only_where_they_are_declared(apply, tmp_path):
    async with apply(client('roots: [./data, "file:///x"]', code=ASKING)) as live:
        told = await ask(live, "roots/list")
    async with apply(client(code=ASKING)) as live:
        refused = await ask(live, "roots/list")

    assert told == {"roots": [{"uri": (tmp_path / "data").as_uri()}, {"uri": "file:///x"}]}
    assert refused == {"code": -32601, "message": "roots/list is not offered by this client"}


async def test_sampling_asks_the_model_that_is_declared(apply):
    model = "---\nkind: Ai.ScriptedModel\nmetadata: { name: M }\nturns: [{ text: forty-two }]\n"
    messages = [{"role": "user", "content": {"type": "text", "text": "the answer?"}}]
    async with apply(client("sampling: { model: !ref M }", code=ASKING) + model) as live:
        answer = await ask(live, "sampling/createMessage", messages=messages, maxTokens=10)

    assert answer["content"] == {"type": "text", "text": "forty-two"}


async def test_what_is_declared_is_what_the_server_hears_of(apply):
    code = """
def initialize(id, params):
    return {"protocolVersion": "2025-11-25", "capabilities": {"heard": params["capabilities"]}}
"""
    heard = []
    for fields in ([], ["elicitation: accept", "roots: [x]"], ["elicitation: ask"]):
        async with apply(client(*fields, code=code)) as live:
            heard.append(live["Files"].server.capabilities["heard"])

    assert heard == [
        {},
        {"roots": {"listChanged": False}, "elicitation": {"form": {}}},
        {"elicitation": {"form": {}, "url": {}}},
    ]


@pytest.mark.parametrize(
    "field, finding",
    [
        ("comand: x", "4:1 SCHEMA_UNKNOWN_FIELD"),
        ("cwd: ~", "4:6 SCHEMA_TYPE"),
        ("env: { PORT: 500 }", "4:14 SCHEMA_TYPE"),
        ("callTimeoutMs: 0", "4:16 SCHEMA_VALUE"),
        ("maxResultBytes: 10", "4:17 SCHEMA_VALUE"),
        ("shutdownGraceMs: -1", "4:18 SCHEMA_VALUE"),
        ("protocol: 2025-11-25", "4:11 SCHEMA_VALUE"),
        ("clientInfo: { name: x }", "4:13 SCHEMA_REQUIRED"),
        ("restart: always", "4:10 SCHEMA_VALUE"),
        ("sampling: { model: M }", "4:20 REF_EXPECTED"),
    ],
)
def test_a_field_that_makes_no_sense_is_found_at_its_place(validate, field, finding):
    found = validate(f"kind: Mcp.StdioClient\nmetadata: {{ name: Files }}\ncommand: x\n{field}\n")

    assert [line.rsplit(" ", line.count(" ") - 1)[0] for line in found if "UNUSED" not in line] == [finding]
