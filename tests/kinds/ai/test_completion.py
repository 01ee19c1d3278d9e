"""`Ai.Completion`: one turn, or a structured answer."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from runtime.errors import AgentError
from runtime.lifecycle import Live

pytestmark = pytest.mark.anyio

Apply = Callable[..., AbstractAsyncContextManager[Live]]


def completion(fields: str, *turns: str) -> str:
    lines = "\n".join(f"      - {turn}" for turn in turns)
    return f"""
    kind: Ai.Completion
    metadata: {{ name: Judge }}
    model:
      kind: Ai.ScriptedModel
      turns:
{lines}
    {fields}
    """


OUTPUT = "output: { schema: { type: object, required: [n], properties: { n: { type: integer } } } }"


async def test_without_an_output_it_is_one_turn_whatever_the_text(apply: Apply) -> None:
    async with apply(completion("system: Be brief.", "{ text: three }")) as live:
        answer = await live["Judge"].invoke({"prompt": "count"})

    assert (answer["text"], len(answer["steps"]), "output" in answer) == ("three", 1, False)


async def test_structured_answer_is_a_json_value(apply: Apply) -> None:
    turn = "{ expect: { system: 'Be brief.*JSON Schema.*\"n\"' }, text: '{\"n\": 3}' }"

    async with apply(completion(f"system: Be brief.\n    {OUTPUT}", turn)) as live:
        answer = await live["Judge"].invoke({"prompt": "count"})

    assert (answer["output"], len(answer["steps"])) == ({"n": 3}, 1)


async def test_answer_of_another_form_may_be_mended_once(apply: Apply) -> None:
    async with apply(completion(OUTPUT, "{ text: three }", "{ text: '{\"n\": 3}' }")) as live:
        answer = await live["Judge"].invoke({"prompt": "count"})

    assert answer["output"] == {"n": 3}
    assert [step.get("refused", "").partition(":")[0] for step in answer["steps"]] == ["the answer is no JSON", ""]


async def test_second_answer_of_another_form_fails(apply: Apply) -> None:
    async with apply(completion(OUTPUT, "{ text: three }", "{ text: '{\"n\": true}' }", "{ text: more }")) as live:
        with pytest.raises(AgentError) as raised:
            await live["Judge"].invoke({"prompt": "count"})

    assert raised.value.code == "ERR_AGENT_OUTPUT"
    assert raised.value.details == {"text": '{"n": true}'}


async def test_part_of_a_schema_that_says_nothing_is_warned_of(apply: Apply, report) -> None:
    schema = "output: { schema: { $ref: '#/$defs/Gone' } }"

    async with apply(completion(schema, "{ text: '1' }")) as live:
        assert (await live["Judge"].invoke({"prompt": "count"}))["output"] == 1

    assert [line.partition(" is not checked")[0] for line in report.warnings] == ["Judge: a part of `output.schema`"]


def test_schema_that_is_none_is_found_by_validate(validate: Callable[[str], list[str]]) -> None:
    found = validate(completion("output: { schema: { type: objekt } }", "{ text: a }"))

    assert [line.partition(" ")[2] for line in found] == [
        'SCHEMA_VALUE this is no JSON Schema: "type" cannot be "objekt"'
    ]
