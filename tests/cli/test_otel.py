"""Spans of OpenTelemetry: what a command sends to a collector, and what a server is told of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import environment, run
from servers.chat import Calls, serve_chat

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra otel is not installed")

from servers.collector import collect_spans

SERVER = """
import json, sys
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("told", "fail", "refuse")]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params") or {}
    name = params.get("name")
    told = {key: value for key, value in params.get("_meta", {}).items() if key.startswith("trace")}
    answers = {
        "initialize": {"result": HELLO},
        "tools/list": {"result": {"tools": TOOLS}},
        "tools/call": {"result": {"content": [], "structuredContent": {"meta": told}, "isError": name == "fail"}},
    }
    answer = answers.get(message["method"])
    if answer is None or name == "refuse":
        answer = {"error": {"code": -32602, "message": "no"}}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""
MANIFEST = """\
kind: Mcp.StdioClient
metadata: { name: Server }
command: PYTHON
args: [SERVER]
---
kind: AiMcp.ToolProvider
metadata: { name: Tools }
client: !ref Server
---
kind: Ai.ScriptedModel
metadata: { name: Script }
turns:
  - toolCalls: [{ name: told, arguments: { token: "${{ secrets.token }}" } }, { name: fail }, { name: refuse }]
    usage: { promptTokens: 7, completionTokens: 3, cachedTokens: 2 }
  - text: "${{ results[0] }}"
---
kind: Ai.Agent
metadata: { name: Inner }
model: !ref Script
toolProviders: [{ provider: !ref Tools }]
---
kind: Ai.Tools
metadata: { name: Team }
tools: [{ tool: !ref Inner, name: ask, parameters: { type: object } }]
---
kind: AiOpenai.OpenaiModel
metadata: { name: Gpt }
model: gpt-test
apiKey: none
baseUrl: BASE_URL
---
kind: Ai.Agent
metadata: { name: Outer }
model: !ref Gpt
toolProviders: [{ provider: !ref Team }]
"""
TOKEN = "s3cr3t-77aa41"


def answer(request: dict[str, Any]) -> Any:
    last = request["messages"][-1]
    return last["content"] if last["role"] == "tool" else Calls([("ask", {"prompt": "go"})])


@pytest.fixture
def apply(tmp_path: Path) -> Any:
    """Applies the manifest for a question to `Outer`: what was printed, and the spans that came."""
    (tmp_path / "server.py").write_text(SERVER)

    def do(*words: str, endpoint: bool = True, **variables: str) -> Any:
        with serve_chat(answer) as model, collect_spans() as seen:
            manifest = MANIFEST.replace("BASE_URL", model.base_url).replace("PYTHON", sys.executable)
            (tmp_path / "app.yaml").write_text(manifest.replace("SERVER]", f"{tmp_path / 'server.py'}]"))
            if endpoint:
                variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = seen.endpoint
            question = ("--agent", "Outer", "--prompt", "go", "--quiet")
            ended = run(tmp_path, "apply", "app.yaml", *question, *words, TOKEN=TOKEN, **variables)
        return ended, seen

    return do


def test_runs_turns_and_calls_are_spans_of_one_trace_down_to_the_server(apply: Any) -> None:
    ended, seen = apply()

    told = json.loads(ended.out)["meta"]["traceparent"]
    [call] = seen.named("execute_tool told")
    assert seen.tree() == [
        "invoke_agent Outer",
        "  chat gpt-test",
        "  execute_tool ask",
        "    invoke_agent Inner",
        "      chat",
        "      execute_tool told",
        "      execute_tool fail",
        "      execute_tool refuse",
        "      chat",
        "  chat gpt-test",
    ]
    assert told.startswith(f"00-{call['trace']}-{call['id']}-0")
    assert {span["trace"] for span in seen.spans} == {call["trace"]}
    assert (ended.code, ended.err, seen.services) == (0, "", {"runtime"})


def test_spans_say_what_the_conventions_want_and_no_content(apply: Any) -> None:
    _, seen = apply()

    first, _ = seen.named("chat gpt-test")
    port = first["attributes"].pop("server.port")
    assert (first["kind"], first["attributes"]) == (
        "client",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.agent.name": "Outer",
            "gen_ai.request.stream": True,
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-test",
            "server.address": "127.0.0.1",
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 5,
            "gen_ai.response.finish_reasons": ["tool-calls"],
        },
    )
    assert port > 0
    [told] = seen.named("execute_tool told")
    request_id = told["attributes"].pop("jsonrpc.request.id")
    assert (told["kind"], told["has_failed"], told["attributes"]) == (
        "internal",
        False,
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "told",
            "gen_ai.tool.call.id": "call_1_0",
            "gen_ai.tool.type": "function",
            "mcp.method.name": "tools/call",
            "mcp.protocol.version": "2025-11-25",
            "network.transport": "pipe",
        },
    )
    assert request_id.isdigit()
    [inner] = seen.named("invoke_agent Inner")
    assert (inner["kind"], inner["attributes"]) == (
        "internal",
        {
            "gen_ai.provider.name": "_OTHER",
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "Inner",
            "gen_ai.usage.input_tokens": 7,
            "gen_ai.usage.output_tokens": 3,
            "gen_ai.usage.cache_read.input_tokens": 2,
        },
    )


def test_a_call_that_failed_says_how(apply: Any) -> None:
    _, seen = apply()

    [fail], [refuse] = seen.named("execute_tool fail"), seen.named("execute_tool refuse")
    assert (fail["has_failed"], fail["attributes"]["error.type"]) == (True, "tool_error")
    assert (refuse["has_failed"], refuse["attributes"]["error.type"]) == (True, "-32602")
    assert refuse["attributes"]["rpc.response.status_code"] == "-32602"


def test_content_is_on_spans_where_it_is_asked_for_and_secrets_are_not(apply: Any) -> None:
    _, plain = apply()
    _, full = apply(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true")

    [told] = full.named("execute_tool told")
    second = full.named("chat gpt-test")[1]["attributes"]
    assert json.loads(told["attributes"]["gen_ai.tool.call.arguments"]) == {"token": "***"}
    assert "traceparent" in told["attributes"]["gen_ai.tool.call.result"]
    assert [message["role"] for message in json.loads(second["gen_ai.input.messages"])] == ["user", "assistant", "tool"]
    [output] = json.loads(second["gen_ai.output.messages"])
    assert (output["role"], output["finish_reason"]) == ("assistant", "stop")
    assert TOKEN not in str(full.spans) + str(plain.spans)
    assert "traceparent" not in str(plain.spans)


def test_without_a_wish_nothing_is_traced_and_the_server_is_told_of_nothing(apply: Any) -> None:
    for variables in ({}, {"OTEL_TRACES_EXPORTER": "none"}, {"OTEL_SDK_DISABLED": "true"}):
        ended, seen = apply(endpoint=bool(variables), **variables)

        assert (json.loads(ended.out), seen.spans) == ({"meta": {}}, [])


def test_the_option_asks_for_spans_too_and_the_console_is_standard_error(apply: Any) -> None:
    ended, _ = apply("--otel", endpoint=False, OTEL_TRACES_EXPORTER="console")

    assert "meta" in json.loads(ended.out)
    assert '"name": "invoke_agent Outer"' in ended.err


def test_a_collector_that_is_not_there_is_one_warning(apply: Any) -> None:
    ended, _ = apply(endpoint=False, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")

    assert (ended.code, "meta" in json.loads(ended.out)) == (0, True)
    assert [line[:14] for line in ended.err.splitlines()] == ["warning: otel:"]


def test_an_exporter_that_is_not_known_is_wrong_usage(apply: Any) -> None:
    ended, _ = apply("--otel", OTEL_TRACES_EXPORTER="pigeon")

    assert (ended.code, ended.out) == (2, "")
    assert 'OTEL_TRACES_EXPORTER is "pigeon"' in ended.err


def test_without_the_sdk_the_option_says_what_to_install_and_the_variables_do_nothing(
    apply: Any, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['opentelemetry.sdk'] = None\n")
    variables = {"PYTHONPATH": str(tmp_path)}

    asked, _ = apply("--otel", **variables)
    ended, seen = apply(**variables)

    assert (asked.code, "manifest-runtime[otel]" in asked.err) == (2, True)
    assert (ended.code, json.loads(ended.out), seen.spans) == (0, {"meta": {}}, [])


def test_a_command_that_is_not_traced_imports_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(
        "kind: Ai.Agent\nmetadata: { name: A }\nmodel: { kind: Ai.ScriptedModel, turns: [{ text: hi }] }\n"
    )
    program = (
        "import sys\nfrom runtime.cli.main import main\n"
        "code = main(['apply', 'app.yaml', '--prompt', 'x', '--quiet'])\n"
        "print(code, [name for name in sys.modules if name.startswith('opentelemetry')])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.stdout == "hi\n0 []\n"
