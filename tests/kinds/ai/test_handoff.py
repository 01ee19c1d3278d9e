"""`Ai.Handoff`: a conversation given away, and the answer that ends the run."""

from typing import Any

import pytest

from runtime.ai.contracts import Message
from runtime.errors import AgentError, ToolError

pytestmark = pytest.mark.anyio


REFUND = "{ expect: { system: '^You refund.', user: broken }, text: '{\"back\": 5}', usage: { promptTokens: 7 } }"


def desk(*, other: str = "", first: str = "", turn: str = "{ toolCalls: [{ name: transfer_to_Refunds }] }") -> str:
    return f"""
    kind: Ai.Agent
    metadata: {{ name: Refunds }}
    system: You refund.
    model:
      kind: Ai.ScriptedModel
      turns:
        - {REFUND}
    {other}
    ---
    kind: Ai.Handoff
    metadata: {{ name: ToRefunds }}
    agent: !ref Refunds
    description: For whoever wants money back.
    ---
    kind: Ai.Agent
    metadata: {{ name: Desk }}
    system: You answer.
    model:
      kind: Ai.ScriptedModel
      turns: [{turn}, {{ text: never }}]
    toolProviders: [{{ provider: !ref ToRefunds }}]
    {first}
    """


async def test_answer_of_the_other_agent_ends_the_run(apply: Any) -> None:
    async with apply(
        desk(turn="{ text: I ask., usage: { promptTokens: 2 }, toolCalls: [{ name: transfer_to_Refunds }] }")
    ) as live:
        run = live["Desk"].start({"prompt": "My cup came broken."})
        events = [event async for event in run.events()]
        answer = await live["Desk"].invoke({"prompt": "My cup came broken."})

    assert (answer["text"], answer["finishReason"], answer["usage"]["totalTokens"]) == ('{"back": 5}', "stop", 9)
    assert "output" not in answer
    first, last = answer["steps"]
    (result,) = first["toolResults"]
    assert (result["content"], result["endsRun"], result["rest"][0]["text"]) == ('{"back": 5}', True, '{"back": 5}')
    assert last == {"text": '{"back": 5}', "toolCalls": [], "toolResults": []}
    assert events[-1].text == '{"back": 5}'
    assert run.messages[-1] == Message("assistant", '{"back": 5}')
    assert [message.role for message in run.messages] == ["system", "user", "assistant", "tool", "assistant"]


async def test_other_agent_gets_the_whole_conversation_without_the_system_text(apply: Any) -> None:
    second = "{ expect: { system: '^You refund.$', user: ^broken$ }, text: two }"  # an answer after one that was given
    manifest = desk(turn="{ text: one }, { toolCalls: [{ name: transfer_to_Refunds }] }")
    manifest = manifest.replace(f"- {REFUND}", f"- {{ text: one }}\n        - {second}")
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "yes?"},
        {"role": "user", "content": "broken"},
    ]

    async with apply(manifest) as live:
        answer = await live["Desk"].invoke({"messages": messages})

    assert answer["text"] == "two"


async def test_structured_answer_is_that_of_the_run(apply: Any) -> None:
    async with apply(desk(other="output: { schema: { required: [back] } }")) as live:
        assert (await live["Desk"].invoke({"prompt": "broken"}))["output"] == {"back": 5}


async def test_form_of_the_first_agent_holds(apply: Any) -> None:
    async with apply(desk(first="output: { schema: { required: [back] } }")) as live:
        assert (await live["Desk"].invoke({"prompt": "broken"}))["output"] == {"back": 5}
    async with apply(desk(first="output: { schema: { required: [gone] } }")) as live:
        with pytest.raises(AgentError) as raised:
            await live["Desk"].invoke({"prompt": "broken"})

    assert raised.value.code == "ERR_AGENT_OUTPUT"


async def test_failure_of_the_other_agent_is_the_error_of_the_tool(apply: Any) -> None:
    async with apply(desk()) as live:
        answer = await live["Desk"].invoke({"prompt": "whole"})

    assert answer["text"] == "never"
    assert answer["steps"][0]["toolResults"][0]["code"] == "ERR_MODEL_SCRIPT"


async def test_outside_of_a_run_there_is_nothing_to_hand_over(apply: Any) -> None:
    async with apply(desk()) as live:
        (tool,) = await live["ToRefunds"].list_tools()
        for name, code in (("transfer_to_Refunds", "ERR_AGENT_HANDOFF"), ("gone", "ERR_TOOL_UNKNOWN")):
            with pytest.raises(ToolError) as raised:
                await live["ToRefunds"].call_tool(name, {})
            assert raised.value.code == code

    assert (tool.name, tool.description) == ("transfer_to_Refunds", "For whoever wants money back.")


def test_agents_that_hand_over_in_a_circle_are_found(validate: Any) -> None:
    found = validate(desk(other="toolProviders: [{ provider: !ref ToRefunds }]"))

    assert [line.split(" ")[1] for line in found if "CYCLE" in line] == ["REF_CYCLE"]
