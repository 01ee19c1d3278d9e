"""`Ai.Task` and `Ai.Completion`: what is asked, what is given, what is expected."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from msgspec import to_builtins

from runtime.ai.events import Answer
from runtime.errors import AgentError, ExpectationError
from runtime.lifecycle import Live

pytestmark = pytest.mark.anyio

Apply = Callable[[str], AbstractAsyncContextManager[Live]]

MODEL = """
    kind: Ai.ScriptedModel
    metadata: { name: Model }
    rules:
      - { when: { user: "count" }, text: '{"n": 3}' }
      - { when: { user: "greet (?P<who>\\\\w+)" }, text: "hello ${{ match.who }}" }
    ---
    kind: Ai.Completion
    metadata: { name: Writer }
    model: !ref Model
    ---
"""


async def test_a_completion_is_one_turn_without_tools(apply: Apply) -> None:
    async with apply(MODEL + "    kind: Ai.Task\n    metadata: { name: T }\n    agent: !ref Writer\n") as live:
        answer = await live["Writer"].invoke({"prompt": "greet Ann"})
    assert answer["text"] == "hello Ann"
    assert [step["toolCalls"] for step in answer["steps"]] == [[]]


async def test_what_a_task_is_given_fills_what_it_asks(apply: Apply) -> None:
    manifest = (
        MODEL
        + """
    kind: Ai.Task
    metadata: { name: Greet }
    agent: !ref Writer
    inputs: { type: object, required: [who], properties: { who: { type: string } } }
    prompt: "greet ${{ inputs.who }}"
    """
    )
    async with apply(manifest) as live:
        assert (await live["Greet"].invoke({"who": "Bea"}))["text"] == "hello Bea"
        with pytest.raises(AgentError) as caught:
            await live["Greet"].invoke({"who": 7})
    assert caught.value.code == "ERR_AGENT_INPUT"


async def test_messages_are_asked_with_what_is_given(apply: Apply) -> None:
    manifest = (
        MODEL
        + """
    kind: Ai.Task
    metadata: { name: Greet }
    agent: !ref Writer
    inputs: { type: object, properties: { who: { type: string } } }
    messages: [{ role: user, content: "greet ${{ inputs.who }}" }]
    """
    )
    async with apply(manifest) as live:
        assert (await live["Greet"].invoke({"who": "Cy"}))["text"] == "hello Cy"


async def test_an_answer_that_fits_is_given_as_it_is(apply: Apply) -> None:
    manifest = (
        MODEL
        + """
    kind: Ai.Task
    metadata: { name: Count }
    agent: !ref Writer
    prompt: count
    expect:
      schema: { type: object, required: [n], properties: { n: { type: integer } } }
      that: [!cel "result.text.contains('3')", "${{ result.steps.size() == 1 }}"]
    """
    )
    async with apply(manifest) as live:
        assert (await live["Count"].invoke({}))["text"] == '{"n": 3}'


async def test_the_structured_answer_of_an_agent_is_what_the_schema_is_about(apply: Apply) -> None:
    manifest = """
    kind: Ai.Agent
    metadata: { name: Counter }
    model: { kind: Ai.ScriptedModel, turns: [{ text: "So:\\n```\\n{\\"n\\": 3}\\n```" }] }
    output: { schema: { type: object } }
    ---
    kind: Ai.Task
    metadata: { name: Count }
    agent: !ref Counter
    prompt: count
    expect: { schema: { $ref: "#/definitions/Three", definitions: { Three: { required: [n] } } } }
    """

    async with apply(manifest) as live:
        assert (await live["Count"].invoke({}))["output"] == {"n": 3}


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("{ schema: { type: array } }", "the answer does not fit the expected schema"),
        ("{ that: [!cel \"result.text.contains('4')\"] }", "\"result.text.contains('4')\" does not hold of the answer"),
        ("{ that: [!cel result.text] }", '"result.text" does not hold of the answer'),
    ],
)
async def test_an_answer_that_does_not_fit_fails_the_task(apply: Apply, expect: str, message: str) -> None:
    manifest = (
        MODEL
        + f"""
    kind: Ai.Task
    metadata: {{ name: Count }}
    agent: !ref Writer
    prompt: count
    expect: {expect}
    """
    )
    async with apply(manifest) as live:
        with pytest.raises(ExpectationError) as caught:
            await live["Count"].invoke({})
    assert caught.value.message.startswith(message)
    assert caught.value.exit_status == 5
    assert caught.value.hint == 'it was: {"n": 3}'


def test_schemas_and_double_questions_are_found_without_running(validate: Callable[[str], list[str]]) -> None:
    manifest = (
        MODEL
        + """
    kind: Ai.Task
    metadata: { name: Bad }
    agent: !ref Writer
    inputs: { type: objekt }
    prompt: "greet ${{ inputs.who }}"
    messages: [{ role: user, content: hi }]
    expect: { schema: { required: who } }
    """
    )
    assert [found.split(" ")[1] for found in validate(manifest)] == [
        "SCHEMA_VALUE",
        "CEL_UNKNOWN_NAME",
        "SCHEMA_VALUE",
        "SCHEMA_VALUE",
    ]


TOLD = """
    kind: Ai.Agent
    metadata: { name: Main }
    model: { kind: Ai.ScriptedModel, turns: [{ text: draft }] }
    ---
    kind: Ai.Task
    metadata: { name: Write }
    agent: !ref Main
    prompt: go
    retries: RETRIES
    expect: { that: [!cel "result.text == 'EXPECTED'"] }
"""


async def tell(apply: Apply, expected: str, retries: int) -> tuple[list[dict[str, Any]], Answer]:
    """The events of the task, and what they add up to."""
    events, answer = [], Answer()
    async with apply(TOLD.replace("EXPECTED", expected).replace("RETRIES", str(retries))) as live:
        try:
            async for event in live["Write"].run({}):
                answer.add(event)
                events.append(to_builtins(event))
        except ExpectationError as error:
            assert (events[-1]["code"], events[-1]["message"]) == (error.code, error.message)
    return events, answer


async def test_a_task_tells_what_its_agent_does(apply: Apply) -> None:
    events, answer = await tell(apply, "draft", 0)
    assert [(event["type"], event["text"]) for event in events] == [("text-delta", "draft"), ("finish", "draft")]
    assert answer.to_json()["steps"] == [{"text": "draft", "toolCalls": [], "toolResults": []}]


async def test_an_answer_that_does_not_fit_is_no_finish_and_what_led_to_it_is_told(apply: Apply) -> None:
    events, answer = await tell(apply, "done", 0)
    assert [event["type"] for event in events] == ["text-delta", "error"]
    assert events[-1]["resource"] == "Write"
    assert [step["text"] for step in answer.steps] == ["draft"]


async def test_work_that_is_done_anew_is_told_and_counts_alone(apply: Apply) -> None:
    events, answer = await tell(apply, "done", 1)
    assert [event["type"] for event in events] == ["text-delta", "retry", "text-delta", "error"]
    assert events[1]["message"] == events[-1]["message"]
    assert [step["text"] for step in answer.steps] == ["draft"]


async def test_inputs_that_do_not_fit_are_told_as_an_error(apply: Apply) -> None:
    manifest = TOLD.replace("RETRIES", "0").replace("prompt: go", "inputs: { type: object, required: [who] }")
    events = []
    async with apply(manifest) as live:
        with pytest.raises(AgentError):
            async for event in live["Write"].run({}):
                events.append(to_builtins(event))
    assert [(event["type"], event["code"]) for event in events] == [("error", "ERR_AGENT_INPUT")]
