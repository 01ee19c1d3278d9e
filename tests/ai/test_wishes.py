"""What the caller of a run wants beside its inputs: tools of its own, options, a form of the answer."""

from contextlib import aclosing
from typing import Any, ClassVar

import msgspec
import pytest

from runtime.ai.contracts import Message, ModelRequest, TextDelta, Tool, ToolCall, TurnEnd, Usage
from runtime.ai.events import Finished, ToolAnswered, ToolCalled
from runtime.ai.limits import Limits
from runtime.ai.output import OutputRule
from runtime.ai.wishes import Wishes
from runtime.errors import AgentError

pytestmark = pytest.mark.anyio

ASK = Tool("ask", "Asks the person.", {"type": "object", "properties": {"what": {"type": "string"}}})
GO = {"prompt": "go"}


def wants(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


async def run(agent: Any, inputs: dict[str, Any], **wishes: Any) -> tuple[list[Any], Any]:
    """The events but for texts, and the run."""
    started = agent.start(inputs, Wishes(**wishes))
    async with aclosing(started.events()) as events:
        found = [event async for event in events if not isinstance(event, TextDelta)]
    return found, started


async def test_a_call_of_the_callers_tool_ends_the_run_and_is_told(script, toolbox, agent):
    files = toolbox("Files", read=lambda: "milk")
    model = await script(turns=[{"text": "Which?", "toolCalls": [wants("ask", what="size")]}])

    events, started = await run(agent(model, files), GO, tools=[ASK])

    asked = ToolCalled("call_1_0", "ask", {"what": "size"})
    assert events == [asked, Finished("Which?", "tool-calls", Usage(), tool_calls=[asked])]
    assert started.messages == [
        Message("user", "go"),
        Message("assistant", "Which?", [ToolCall("call_1_0", "ask", '{"what":"size"}')]),
    ]
    assert (await agent(model, files).tools())[0].name == "read"


async def test_calls_of_the_agent_in_the_same_turn_are_run_and_the_run_can_go_on(script, toolbox, agent):
    files = toolbox("Files", read=lambda: "milk")
    turns = [
        {"toolCalls": [wants("read"), wants("ask", what="size"), wants("read")]},
        {"text": "It is ${{ result }}."},
    ]
    made = agent(await script(turns=turns), files, limits=Limits(tool_calls=2), max_steps=2)

    events, started = await run(made, GO, tools=[ASK])

    assert [event.tool_call_id for event in events if isinstance(event, ToolAnswered)] == ["call_1_0", "call_1_2"]
    assert [call.id for call in events[-1].tool_calls] == ["call_1_1"]
    assert [(message.role, message.tool_call_id) for message in started.messages[2:]] == [
        ("tool", "call_1_0"),
        ("tool", "call_1_2"),
    ]
    answer = Message("tool", "large", tool_call_id="call_1_1", name="ask")
    events, _ = await run(made, {"messages": [*started.messages, answer]}, tools=[ASK])
    assert events[-1].finish_reason == "stop"


async def test_a_call_of_the_callers_tool_is_told_in_the_last_turn_too(script, agent):
    model = await script(turns=[{"toolCalls": [wants("ask")]}])

    events, _ = await run(agent(model, max_steps=1), GO, tools=[ASK])

    assert events[-1].finish_reason == "tool-calls"


async def test_a_call_that_does_not_fit_its_schema_is_told_to_the_model_and_not_to_the_caller(script, agent):
    model = await script(turns=[{"toolCalls": [wants("ask", what=1)]}, {"text": "sorry"}])

    events, _ = await run(agent(model), GO, tools=[ASK])

    assert [event.code for event in events if isinstance(event, ToolAnswered)] == ["ERR_TOOL_ARGUMENTS"]
    assert events[-1] == Finished("sorry", "stop", Usage())


@pytest.mark.parametrize("name", ["read", "ask"])
async def test_two_tools_of_one_name_are_refused(script, toolbox, agent, name):
    model = await script(turns=[{"text": "hi"}])
    tools = [Tool(name, "", {"type": "object"}), ASK]

    with pytest.raises(AgentError) as raised:
        await run(agent(model, toolbox("Files", read=lambda: "milk")), GO, tools=tools)
    assert raised.value.code == "ERR_AGENT_CALLER_TOOL"


class Recorder:
    """A model that keeps what it was asked."""

    tool_format = ""
    max_tools = None

    def __init__(self) -> None:
        self.asked: list[tuple[Any, str]] = []

    async def generate(self, request: ModelRequest) -> Any:
        self.asked.append((request.common, request.tool_choice))
        yield TextDelta("t")
        yield TurnEnd((), "stop", Usage())


class Tunable(Recorder):
    common_options: ClassVar = {"temperature": "heat"}


async def test_options_reach_a_model_that_takes_them_and_no_other(agent):
    model = Tunable()
    await run(agent(model), GO, options={"temperature": 1})

    assert model.asked == [({"temperature": 1}, "auto")]
    with pytest.raises(AgentError) as raised:
        await run(agent(model), GO, options={"stop": ["x"]})
    assert raised.value.code == "ERR_AGENT_OPTION"
    with pytest.raises(AgentError):
        await run(agent(Recorder()), GO, options={"temperature": 1})


async def test_the_callers_choice_of_tool_goes_before_the_manifests_but_for_none(toolbox, agent):
    model, files = Tunable(), toolbox("Files", read=lambda: "milk")
    await run(agent(model, files), GO, tools=[ASK], tool_choice="ask")
    await run(agent(model, files, tool_choice="required"), GO, tool_choice="none")
    await run(agent(model, files, tool_choice="required"), GO)
    await run(agent(model, files, tool_choice="none"), GO, tool_choice="auto")

    assert [choice for _, choice in model.asked] == ["ask", "none", "required", "none"]
    with pytest.raises(AgentError):
        await run(agent(model, files, tool_choice="none"), GO, tool_choice="required")


async def test_the_answer_has_the_form_that_the_caller_wants(script, agent):
    form = OutputRule({"type": "object", "required": ["n"]})
    model = await script(turns=[{"text": "well"}, {"text": '{"n": 1}'}])

    events, _ = await run(agent(model), GO, output=form)

    assert events[-1].output == {"n": 1}
    with pytest.raises(AgentError) as raised:
        await run(agent(model, output=form), GO, output=form)
    assert "form of their own" in str(raised.value)


async def test_the_end_of_a_run_with_calls_encodes_to_json(script, agent):
    events, _ = await run(agent(await script(turns=[{"toolCalls": [wants("ask")]}])), GO, tools=[ASK])

    call = {"type": "tool-call", "id": "call_1_0", "name": "ask", "arguments": {}}
    assert msgspec.to_builtins(events[-1])["toolCalls"] == [call]
