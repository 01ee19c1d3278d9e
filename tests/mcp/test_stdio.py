"""What a server on pipes may do, and what becomes of the call, the connection and the run."""

import json
from typing import Any

import anyio
import pytest

from runtime.errors import McpError

pytestmark = pytest.mark.anyio

LIMIT = 20.0


async def fault(call: Any) -> tuple[str, str]:
    """The code and the message with which a call fails."""
    with anyio.fail_after(LIMIT), pytest.raises(McpError) as caught:
        await call
    assert caught.value.resource == "Server"
    return caught.value.code, caught.value.message


async def test_a_call_gives_back_what_the_server_sent(stdio):
    async with stdio() as client:
        result = await client.call_tool("echo", {"text": "hello"})

    assert result == {"content": [{"type": "text", "text": "hello"}]}


async def test_answers_find_their_calls_in_whatever_order_they_come(stdio):
    code = """
waiting = []
def call(id, name, arguments):
    waiting.append((id, arguments["text"]))
    if len(waiting) == 3:
        for id, value in reversed(waiting):
            reply(id, text(value))
    return SILENT
"""
    texts = {}
    async with stdio(code) as client, anyio.create_task_group() as group:

        async def call(value):
            texts[value] = (await client.call_tool("echo", {"text": value}))["content"][0]["text"]

        for value in ("a", "b", "c"):
            group.start_soon(call, value)

    assert texts == {"a": "a", "b": "b", "c": "c"}


async def test_answers_that_nobody_asked_for_are_dropped(stdio):
    code = """
def call(id, name, arguments):
    for wrong in (987654, "abc", None, 1.5, True, {"id": 1}, [id]):
        reply(wrong, text("wrong"))
    reply(id, text("right"))
    return text("again")
"""
    async with stdio(code) as client:
        results = [await client.call_tool("echo", {}) for _ in range(3)]

    assert [result["content"][0]["text"] for result in results] == ["right"] * 3


@pytest.mark.parametrize("form", ["str(id)", "float(id)"])
async def test_an_id_that_comes_back_as_text_or_float_is_still_ours(stdio, form):
    async with stdio(f"def call(id, name, arguments): reply({form}, text('mine')); return SILENT") as client:
        result = await client.call_tool("echo", {})

    assert result["content"][0]["text"] == "mine"


async def test_what_is_no_message_is_skipped_with_one_warning(stdio, context):
    code = """
write(b'Server v1 ready\\n\\n{"level":"info"}\\n[]\\n42\\nnull\\n' + b'x' * 200_000 + b'\\n\\xff\\xfe\\n')
"""
    async with stdio(code) as client:
        await client.call_tool("echo", {"text": "x"})

    [warning] = context.warnings
    assert warning.startswith('the server sent a line on stdout that is no JSON: "Server v1 ready"; it is skipped')


async def test_bytes_that_are_not_utf8_become_replacement_characters(stdio):
    code = """
def call(id, name, arguments):
    write(json.dumps({"jsonrpc": "2.0", "id": id, "result": text("a@b")}).encode().replace(b"@", b"\\xff") + b"\\n")
    return SILENT
"""
    async with stdio(code) as client:
        result = await client.call_tool("echo", {})

    assert result["content"][0]["text"] == "a\N{REPLACEMENT CHARACTER}b"


async def test_a_batch_of_answers_is_taken_apart(stdio):
    code = """
def call(id, name, arguments):
    write(json.dumps([{"jsonrpc": "2.0", "method": "notifications/message", "params": {}},
                      {"jsonrpc": "2.0", "id": id, "result": text("batched")}]).encode() + b"\\n")
    return SILENT
"""
    async with stdio(code) as client:
        result = await client.call_tool("echo", {})

    assert result["content"][0]["text"] == "batched"


async def test_a_result_over_the_limit_fails_its_call_alone(stdio):
    code = "def call(id, name, arguments): return text('x' * int(arguments['text']))"
    async with stdio(code, max_result_bytes=100_000) as client:
        problem = await fault(client.call_tool("echo", {"text": "1000000"}))
        after = await client.call_tool("echo", {"text": "3"})

    assert problem == ("ERR_MCP_LIMIT", "the server sent a message of more than 100000 bytes")
    assert after["content"][0]["text"] == "xxx"


async def test_an_overlong_result_is_told_by_an_id_at_its_end(stdio):
    code = """
def call(id, name, arguments):
    write(b'{"result":{"content":[{"type":"text","text":"' + b"x" * 300_000 + b'"}]},"id":%d,"jsonrpc":"2.0"}\\n' % id)
    return SILENT
"""
    async with stdio(code, max_result_bytes=100_000) as client:
        code, _ = await fault(client.call_tool("echo", {}))

    assert code == "ERR_MCP_LIMIT"


async def test_a_line_without_end_ends_the_connection(stdio):
    code = """
def call(id, name, arguments):
    while True:
        write(b"x" * 65536)
"""
    async with stdio(code, max_result_bytes=100_000, restart="never") as client:
        code, _ = await fault(client.call_tool("echo", {}))
        again, _ = await fault(client.call_tool("echo", {}))

    assert (code, again) == ("ERR_MCP_LIMIT", "ERR_MCP_LIMIT")


async def test_an_answer_that_is_cut_off_fails_its_call_at_once(stdio):
    code = """
def call(id, name, arguments):
    write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[\\n' % id)
    return SILENT
"""
    async with stdio(code) as client:
        code, message = await fault(client.call_tool("echo", {}))

    assert code == "ERR_MCP_PROTOCOL"
    assert message.startswith("the answer is no valid JSON")


async def test_an_answer_that_is_nested_without_end_fails_its_call(stdio):
    code = """
def call(id, name, arguments):
    write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":' % id + b"[" * 100_000 + b"]" * 100_000 + b"}}\\n")
    return SILENT
"""
    async with stdio(code) as client:
        problem = await fault(client.call_tool("echo", {}))

    assert problem == ("ERR_MCP_PROTOCOL", "the answer is no valid JSON: nested too deeply")


async def test_a_silent_call_times_out_is_cancelled_and_leaves_the_connection_alive(stdio):
    code = "def call(id, name, arguments): return SILENT"
    async with stdio(code, call_timeout_ms=200) as client:
        problem = await fault(client.call_tool("echo", {}))
        seen = json.loads((await client.call_tool("seen", {}))["content"][0]["text"])

    sent = next(message for message in seen if message.get("params", {}).get("name") == "echo")
    assert problem == ("ERR_MCP_TIMEOUT", 'the server did not answer "tools/call" in time')
    assert [message["params"]["requestId"] for message in seen if message["method"] == "notifications/cancelled"] == [
        sent["id"]
    ]


async def test_a_caller_that_gives_up_cancels_its_call_at_the_server(stdio):
    async with stdio("def call(id, name, arguments): return SILENT") as client:
        with anyio.move_on_after(0.2):
            await client.call_tool("echo", {})
        seen = json.loads((await client.call_tool("seen", {}))["content"][0]["text"])

    assert [message["method"] for message in seen[-2:]] == ["notifications/cancelled", "tools/call"]


async def test_one_call_may_have_a_limit_of_its_own(stdio):
    async with stdio("def call(id, name, arguments): return SILENT", call_timeout_ms=60_000) as client:
        code, _ = await fault(client.call_tool("echo", {}, timeout_ms=100))

    assert code == "ERR_MCP_TIMEOUT"


PROGRESS = """
import threading, time
def call(id, name, arguments):
    token = seen[-1]["params"]["_meta"]["progressToken"]
    def report():
        for step in range(int(arguments["text"])):
            notify("notifications/progress", progressToken=token, progress=step)
            time.sleep(0.1)
        reply(id, text("done"))
    threading.Thread(target=report, daemon=True).start()
    return SILENT
"""


async def test_progress_reaches_the_log(stdio, context):
    async with stdio(PROGRESS) as client:
        await client.call_tool("echo", {"text": "2"})

    assert context.lines[-2:] == ["progress 0", "progress 1"]


async def test_progress_extends_a_call_where_that_is_asked_for(stdio):
    async with stdio(PROGRESS, call_timeout_ms=600, extend_on_progress=True) as client:
        result = await client.call_tool("echo", {"text": "12"})

    assert result["content"][0]["text"] == "done"


async def test_progress_extends_a_call_to_a_hard_limit_only(stdio):
    fields = {"call_timeout_ms": 400, "extend_on_progress": True, "call_timeout_max_ms": 700}
    async with stdio(PROGRESS, **fields) as client:
        code, _ = await fault(client.call_tool("echo", {"text": "1000"}))

    assert code == "ERR_MCP_TIMEOUT"


async def test_the_death_of_the_server_fails_its_calls_with_status_and_last_words(stdio):
    code = """
def call(id, name, arguments):
    print("reading s3cr3t", file=sys.stderr)
    print("panic: out of\\x1b[31m cheese", file=sys.stderr, flush=True)
    os._exit(42)
"""
    async with stdio(code, restart="never") as client:
        first = await fault(client.call_tool("echo", {}))
        later = await fault(client.call_tool("echo", {}))

    assert first == later
    assert first[0] == "ERR_MCP_TRANSPORT"
    assert first[1].endswith("exited with status 42; the end of its stderr: reading *** | panic: out of [31m cheese")


async def test_the_death_of_the_server_is_seen_though_its_child_holds_the_output(stdio):
    code = """
import subprocess
def call(id, name, arguments):
    subprocess.Popen([sys.executable, "-c", "import signal; signal.signal(15, signal.SIG_IGN); signal.pause()"])
    os._exit(3)
"""
    async with stdio(code, call_timeout_ms=60_000, restart="never") as client:
        code, message = await fault(client.call_tool("echo", {}))

    assert (code, message.rpartition(" ")[2]) == ("ERR_MCP_TRANSPORT", "3")


async def test_an_answer_before_the_end_still_counts(stdio):
    code = """
def call(id, name, arguments):
    reply(id, text("last words"))
    os._exit(0)
"""
    async with stdio(code) as client:
        result = await client.call_tool("echo", {})

    assert result["content"][0]["text"] == "last words"


async def test_a_server_that_closes_its_output_and_stays_is_given_up(stdio):
    code = """
import signal
def call(id, name, arguments):
    os.close(1)
    signal.pause()
"""
    async with stdio(code, call_timeout_ms=60_000, restart="never", shutdown_grace_ms=100) as client:
        problem = await fault(client.call_tool("echo", {}))

    assert problem[0] == "ERR_MCP_TRANSPORT"
    assert problem[1].endswith("closed its output")


async def test_a_flood_on_stderr_is_drained_and_only_its_end_is_kept(stdio):
    code = """
os.write(2, (b"E" * 199 + b"\\n") * 100_000)
def call(id, name, arguments):
    print("the end", file=sys.stderr, flush=True)
    os._exit(1)
"""
    async with stdio(code, restart="never") as client:
        _, message = await fault(client.call_tool("echo", {}))

    assert message.endswith(" | the end")
    assert len(message) < 3000


async def test_a_server_that_does_not_read_costs_its_own_call_alone(stdio):
    code = """
import signal
def call(id, name, arguments):
    signal.pause()
"""
    async with stdio(code, call_timeout_ms=500, shutdown_grace_ms=100) as client:
        codes = [(await fault(client.call_tool("echo", {"text": "x" * 300_000})))[0] for _ in range(3)]

    assert codes == ["ERR_MCP_TIMEOUT"] * 3


async def test_requests_of_the_server_get_one_answer_each(stdio):
    code = """
answers = []
def take_answer(message):
    answers.append([message["id"], message.get("result"), message.get("error", {}).get("code")])
    if len(answers) == 4:
        reply(waiting, text(json.dumps(answers)))
def call(id, name, arguments):
    global waiting
    waiting = id
    for number, method in enumerate(("ping", "roots/list", "sampling/createMessage", "elicitation/create")):
        send({"id": f"s{number}", "method": method, "params": {}})
    return SILENT
"""
    async with stdio(code) as client:
        result = await client.call_tool("echo", {})

    assert json.loads(result["content"][0]["text"]) == [
        ["s0", {}, None],
        ["s1", None, -32601],
        ["s2", None, -32601],
        ["s3", None, -32601],
    ]


async def test_a_json_rpc_error_keeps_code_message_and_data(stdio):
    code = "def call(id, name, arguments): raise Refused(-32000, 'disk on fire, s3cr3t', {'sector': 7})"
    async with stdio(code) as client:
        with pytest.raises(McpError) as caught:
            await client.call_tool("echo", {})

    error = caught.value
    assert (error.code, error.message) == ("ERR_MCP_JSON_RPC_ERROR", "disk on fire, *** (JSON-RPC error -32000)")
    assert error.details == {"rpcCode": -32000, "rpcData": {"sector": 7}}


async def test_a_result_that_is_no_object_is_a_protocol_error(stdio):
    async with stdio("def call(id, name, arguments): return 'fine'") as client:
        problem = await fault(client.call_tool("echo", {}))

    assert problem == ("ERR_MCP_PROTOCOL", 'the result of "tools/call" is no JSON object')
