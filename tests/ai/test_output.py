"""Structured answers: what the model is told, how its text is read, the one turn in which it may mend it."""

from typing import Any

import pytest

from runtime.ai.contracts import Message, ModelRequest, TextDelta, TurnEnd, Usage
from runtime.ai.events import OutputRefused
from runtime.ai.output import OutputRule
from runtime.errors import AgentError

pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


class Speaker:
    """A model that gives these texts, a turn each, and keeps the messages that it was asked with."""

    tool_format = ""
    max_tools = None

    def __init__(self, *texts: str, reason: str = "stop") -> None:
        self.texts = list(texts)
        self.reason = reason
        self.asked: list[list[Message]] = []

    async def generate(self, request: ModelRequest) -> Any:
        self.asked.append(list(request.messages))
        text = self.texts.pop(0)
        if text:
            yield TextDelta(text)
        yield TurnEnd((), self.reason, Usage(10, 1, 11), {"signature": len(self.asked)})


async def test_answer_holds_the_value_beside_the_text_that_it_was_read_from(agent):
    answer = await agent(Speaker(' {"n": 3}\n'), output=OutputRule(SCHEMA)).invoke({"prompt": "go"})

    assert answer == {
        "text": ' {"n": 3}\n',
        "usage": {
            "promptTokens": 10,
            "completionTokens": 1,
            "totalTokens": 11,
            "cachedTokens": 0,
            "reasoningTokens": 0,
        },
        "finishReason": "stop",
        "steps": [{"text": ' {"n": 3}\n', "toolCalls": [], "toolResults": []}],
        "output": {"n": 3},
    }


async def test_answer_without_a_schema_has_no_output(agent):
    assert "output" not in await agent(Speaker('{"n":3}')).invoke({"prompt": "go"})


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "integer"}, "7", 7),
        ({"type": "null"}, "null", None),
        ({"enum": ["a"]}, '"a"', "a"),
        ({}, "[1, 2.5]", [1, 2.5]),
        (SCHEMA, '```json\n{"n": 3}\n```', {"n": 3}),
        (SCHEMA, 'Here you are:\n\n```\n{\n"n": 3\n}\n```\nAnything else?', {"n": 3}),
        ({"$ref": "#/definitions/N", "definitions": {"N": {"type": "integer"}}}, "7", 7),
        ({"type": "string"}, '"```"', "```"),
    ],
)
async def test_any_value_that_fits_its_schema_is_taken(agent, schema, text, value):
    assert (await agent(Speaker(text), output=OutputRule(schema)).invoke({"prompt": "go"}))["output"] == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the answer is no JSON: Input data was truncated"),
        ("It is 3.", "the answer is no JSON: JSON is malformed: invalid character (byte 0)"),
        ('{"n": 3} is it', "the answer is no JSON: JSON is malformed: trailing characters (byte 10)"),
        ('{"n": NaN}', "the answer is no JSON: JSON is malformed: invalid character (byte 6)"),
        ('```json\n{"n": 3}', "the answer is no JSON: JSON is malformed: invalid character (byte 0)"),
        ('```\n{"n":1}\n```\nor\n```\n{"n":2}\n```', "the answer is no JSON: JSON is malformed: trailing characters"),
        ("[" * 100_000, "the answer is no JSON: maximum recursion depth exceeded"),
        ('{"n": "3"}', "the answer does not fit `output.schema`: /n: "),
        ("{}", 'the answer does not fit `output.schema`: "n" is missing'),
        ('{"n": 3, "m": 1}', "the answer does not fit `output.schema`: "),
    ],
)
async def test_what_is_not_of_the_form_is_refused_once_and_then_fails_the_run(agent, text, said):
    model = Speaker(text, text)

    with pytest.raises(AgentError) as raised:
        await agent(model, output=OutputRule(SCHEMA)).invoke({"prompt": "go"})

    assert (raised.value.code, raised.value.resource) == ("ERR_AGENT_OUTPUT", "Assistant")
    assert raised.value.message.startswith(said)
    assert raised.value.details == {"text": text}
    assert len(model.asked) == 2


async def test_model_is_told_what_was_wrong_and_may_mend_it(agent):
    model = Speaker('{"n": "three"}', '{"n": 3}')
    run = agent(model, output=OutputRule(SCHEMA)).start({"prompt": "go"})

    events = [event async for event in run.events()]

    refused = next(event for event in events if isinstance(event, OutputRefused))
    told = run.messages[-2]
    assert refused.message.startswith("the answer does not fit `output.schema`: /n: ")
    assert events[-1].output == {"n": 3}
    assert [(message.role, message.provider_data) for message in model.asked[1]] == [
        ("system", None),
        ("user", None),
        ("assistant", {"signature": 1}),
        ("user", None),
    ]
    assert told.content == (
        f"Your answer cannot be used: {refused.message.replace('`output.schema`', 'the JSON Schema')}\n"
        "Answer again with one JSON value that fits the JSON Schema, and nothing else."
    )


async def test_trace_has_the_refused_turn_and_its_tokens(agent):
    answer = await agent(Speaker("three", '{"n":3}'), output=OutputRule(SCHEMA)).invoke({"prompt": "go"})

    first, second = answer["steps"]
    assert (first["text"], first["refused"]) == (
        "three",
        "the answer is no JSON: JSON is malformed: invalid character (byte 4)",
    )
    assert second == {"text": '{"n":3}', "toolCalls": [], "toolResults": []}
    assert answer["usage"]["totalTokens"] == 22


async def test_answer_cut_off_at_the_limit_of_tokens_is_told_as_that(agent):
    with pytest.raises(AgentError, match="cut off at the limit of tokens"):
        await agent(Speaker('{"n":', '{"n":', reason="length"), output=OutputRule(SCHEMA)).invoke({"prompt": "go"})


async def test_mending_takes_a_turn_of_max_steps(agent):
    model = Speaker("three", '{"n":3}')

    with pytest.raises(AgentError) as raised:
        await agent(model, output=OutputRule(SCHEMA), max_steps=1).invoke({"prompt": "go"})

    assert (raised.value.code, len(model.asked)) == ("ERR_AGENT_OUTPUT", 1)


async def test_text_at_the_last_step_has_to_be_of_the_form_too(script, toolbox, agent):
    model = await script(turns=[{"text": "let me see", "toolCalls": [{"name": "one"}]}])
    rules = {"output": OutputRule(SCHEMA), "max_steps": 1, "on_max_steps": "return"}

    with pytest.raises(AgentError) as raised:
        await agent(model, toolbox("Tools", one=lambda: "1"), **rules).invoke({"prompt": "go"})

    assert raised.value.code == "ERR_AGENT_OUTPUT"


async def test_tools_may_be_used_before_the_answer_and_before_the_mended_one(script, toolbox, agent):
    one = {"toolCalls": [{"name": "one"}]}
    model = await script(turns=[one, {"text": "three"}, one, {"text": '{"n":3}'}])

    answer = await agent(model, toolbox("Tools", one=lambda: "1"), output=OutputRule(SCHEMA)).invoke({"prompt": "go"})

    assert (answer["output"], [len(step["toolCalls"]) for step in answer["steps"]]) == ({"n": 3}, [1, 0, 1, 0])


async def test_system_text_ends_with_the_schema_whoever_gave_it(agent):
    rule = OutputRule(SCHEMA)
    for rules, inputs, system in (
        ({}, {"prompt": "go"}, rule.instruction),
        ({"system": "Be brief."}, {"prompt": "go"}, f"Be brief.\n\n{rule.instruction}"),
        ({"system": "Be brief."}, {"prompt": "go", "system": "Be long."}, f"Be long.\n\n{rule.instruction}"),
        (
            {},
            {"messages": [{"role": "system", "content": "Mine."}, {"role": "user", "content": "go"}]},
            f"Mine.\n\n{rule.instruction}",
        ),
    ):
        model = Speaker('{"n":3}')
        await agent(model, output=rule, **rules).invoke(inputs)
        assert model.asked[0] == [Message("system", system), Message("user", "go")]
    assert '"required":["n"]' in rule.instruction


async def test_run_that_goes_on_is_told_the_schema_once(agent):
    rule = OutputRule(SCHEMA)
    model = Speaker('{"n":3}', '{"n":4}')
    assistant = agent(model, output=rule)
    first = assistant.start({"prompt": "go"})
    async for _ in first.events():
        pass

    await assistant.invoke({"messages": [*first.messages, Message("user", "on")]})

    assert model.asked[1][0] == Message("system", rule.instruction)


def test_part_of_a_schema_that_says_nothing_is_noted():
    assert OutputRule({"properties": {"a": {"$ref": "#/$defs/Gone"}}}).notes == [
        '/properties/a: the reference "#/$defs/Gone" leads nowhere, so it says nothing'
    ]
    assert OutputRule(SCHEMA).notes == []
