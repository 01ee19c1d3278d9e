"""`requireApproval`: whose calls are asked for, who is asked, and what a refusal does."""

from typing import Any

import anyio
import pytest

from runtime.ai.approval import ApprovalRequest, Decision, approvals_by
from runtime.ai.tool_set import Source
from runtime.ai.turn import ToolRules
from runtime.errors import AgentError, ToolError

pytestmark = pytest.mark.anyio


class Judge:
    """Approves the tools that it was made with; `asked` has every request."""

    def __init__(self, *approved: str, reason: str = "") -> None:
        self.approved = approved
        self.reason = reason
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> Decision:
        self.asked.append(request)
        return Decision(request.tool in self.approved, self.reason)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


@pytest.fixture
def files(toolbox):
    return toolbox("Files", read=lambda **_: "read", write=lambda **_: "written", remove=lambda **_: "gone")


async def ask(agent, script, files, judge, *calls, **rules):
    model = await script(turns=[{"toolCalls": list(calls)}, {"text": "done"}])
    assistant = agent(model, Source(files, "Files", "fs_"), tools=ToolRules(**rules))
    with approvals_by(judge):
        answer = await assistant.invoke({"prompt": "go"})
    return [(result["content"], result.get("code")) for step in answer["steps"] for result in step["toolResults"]]


async def test_calls_that_need_it_are_asked_for_with_their_arguments_in_call_order(agent, script, files):
    judge = Judge("fs_write")
    calls = call("fs_remove", path="a"), call("fs_read", path="b"), call("fs_write", path="c", text="\x1b[2J")

    results = await ask(agent, script, files, judge, *calls, approval=("fs_write", "*_remove"))

    assert judge.asked == [
        ApprovalRequest("Assistant", "call_1_0", "fs_remove", {"path": "a"}),
        ApprovalRequest("Assistant", "call_1_2", "fs_write", {"path": "c", "text": "\x1b[2J"}),
    ]
    assert results == [
        ('the call of the tool "fs_remove" was not approved', "ERR_AGENT_APPROVAL"),
        ("read", None),
        ("written", None),
    ]
    assert files.calls == [("read", {"path": "b"}), ("write", {"path": "c", "text": "\x1b[2J"})]


async def test_the_model_reads_why_a_call_was_refused(agent, script, files):
    results = await ask(agent, script, files, Judge(reason="not today"), call("fs_write"), approval=("fs_write",))

    assert results == [('the call of the tool "fs_write" was not approved: not today', "ERR_AGENT_APPROVAL")]


async def test_without_anybody_to_ask_the_call_is_refused(agent, script, files):
    model = await script(turns=[{"toolCalls": [call("write")]}, {"expect": {"toolResult": "nobody to ask"}}])

    answer = await agent(model, files, tools=ToolRules(approval=("*",))).invoke({"prompt": "go"})

    assert answer["steps"][0]["toolResults"][0]["code"] == "ERR_AGENT_APPROVAL"
    assert files.calls == []


async def test_a_refusal_ends_the_run_where_errors_of_tools_do_and_nothing_of_the_turn_runs(agent, script, files):
    calls = call("fs_read"), call("fs_write")

    with pytest.raises(ToolError) as raised:
        await ask(agent, script, files, Judge(), *calls, approval=("fs_write",), on_error="throw")

    assert (raised.value.code, files.calls) == ("ERR_AGENT_APPROVAL", [])


async def test_a_call_that_cannot_be_made_is_not_asked_for(agent, script, files):
    files.describe("write", {"type": "object", "required": ["path"]})
    judge = Judge("fs_write")
    unknown = {**call("fs_gone"), "allowUnknown": True}

    results = await ask(agent, script, files, judge, call("fs_write"), unknown, approval=("*",))

    assert [code for _, code in results] == ["ERR_TOOL_ARGUMENTS", "ERR_TOOL_UNKNOWN"]
    assert judge.asked == []


async def test_no_call_of_a_turn_runs_before_all_are_decided(agent, script, files):
    class Slow(Judge):
        async def __call__(self, request: ApprovalRequest) -> Decision:
            await anyio.lowlevel.checkpoint()
            assert files.calls == []
            return await super().__call__(request)

    results = await ask(agent, script, files, Slow("fs_write"), call("fs_read"), call("fs_write"), approval=("*",))

    assert [content for content, _ in results][1] == "written"


async def test_a_rule_that_no_tool_fits_is_an_error_with_the_names_that_there_are(agent, script, files):
    with pytest.raises(AgentError) as raised:
        await ask(agent, script, files, Judge(), approval=("write", "fs_re*", "rm_*"))

    assert (raised.value.code, raised.value.resource) == ("ERR_AGENT_APPROVAL", "Assistant")
    assert raised.value.message == '`requireApproval` names what is not offered: "write", "rm_*"'
    assert raised.value.hint == "the tools are: fs_read, fs_remove, fs_write"


async def test_a_rule_may_be_about_the_tools_of_a_server_that_is_not_there(agent, script, toolbox, files):
    absent = toolbox("Absent")
    absent.is_available = False
    model = await script(turns=[{"text": "done"}])

    answer = await agent(model, files, absent, tools=ToolRules(approval=("rm_*",))).invoke({"prompt": "go"})

    assert answer["text"] == "done"


async def test_sub_agents_ask_the_same_approver(agent, script, files, toolbox):
    inner_model = await script(turns=[{"toolCalls": [call("write")]}, {"text": "inner done"}])
    inner = agent(inner_model, files, tools=ToolRules(approval=("write",)))

    async def delegate() -> str:
        return str((await inner.invoke({"prompt": "go"}))["text"])

    judge = Judge("write")

    await ask(agent, script, toolbox("Team", delegate=delegate), judge, call("fs_delegate"))

    assert [request.tool for request in judge.asked] == ["write"]
    assert files.calls == [("write", {})]


async def test_runs_at_the_same_time_ask_their_own_approvers(agent, script, files):
    judges = [Judge("fs_write"), Judge()]
    outcomes: list[Any] = [None, None]

    async def run(place: int) -> None:
        calls = [call("fs_write", path=str(place))]
        outcomes[place] = await ask(agent, script, files, judges[place], *calls, approval=("*",))

    async with anyio.create_task_group() as group:
        for place in range(2):
            group.start_soon(run, place)

    assert [[code for _, code in outcome] for outcome in outcomes] == [[None], ["ERR_AGENT_APPROVAL"]]
    assert [[request.arguments for request in judge.asked] for judge in judges] == [[{"path": "0"}], [{"path": "1"}]]
