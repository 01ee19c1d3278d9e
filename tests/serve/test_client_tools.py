"""`runtime serve` for callers with tools and wishes of their own, by OpenAI's client and a provider on loopback."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from servers.chat import Answer, Calls, serve_chat
from serving import Served, serving

MANIFEST = """
kind: Ai.Tools
metadata: {{ name: Shop }}
tools:
  - tool: {{ kind: Ai.Agent, model: {{ kind: Ai.ScriptedModel, rules: [{{ text: ordered }}] }} }}
    name: order
    description: Orders something.
    parameters: {{ type: object, properties: {{ prompt: {{ type: string }} }}, required: [prompt] }}
---
kind: Ai.Agent
metadata: {{ name: Buyer }}
model: {{ kind: AiOpenai.OpenaiModel, model: m, apiKey: none, baseUrl: "{url}", options: {{ maxTokens: 100 }} }}
toolProviders: [{{ provider: !ref Shop }}]
"""
SIZE = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
ASK = {"type": "function", "function": {"name": "ask", "description": "Asks the person.", "parameters": SIZE}}
USER = {"role": "user", "content": "chairs"}


class Model:
    """What the provider of the agent's model says next, and what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Answer:
        self.asked.append(body)
        return self.answers.pop(0)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def served(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("buyer")
    with serve_chat(model) as provider:
        (folder / "buyer.yaml").write_text(MANIFEST.format(url=provider.base_url))
        with serving(folder, "buyer.yaml") as served:
            yield served


@pytest.fixture
def client(served: Served, model: Model) -> Iterator[openai.OpenAI]:
    model.asked.clear()
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
        yield client
    assert model.answers == []


def result(call: Any, text: str) -> dict[str, str]:
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def told(messages: list[dict[str, Any]]) -> list[Any]:
    """The messages that a provider got, in short: the calls of a turn, the results, else the text."""
    return [
        [call["function"]["name"] for call in message["tool_calls"]]
        if message.get("tool_calls")
        else message["content"]
        for message in messages
    ]


def test_a_call_of_the_callers_tool_is_handed_over_and_its_result_taken(client: openai.OpenAI, model: Model) -> None:
    model.answers = [Calls([("ask", {"what": "size"})]), "large ones"]
    asked: dict[str, Any] = {"model": "Buyer", "tools": [ASK], "tool_choice": "required"}
    answer = client.chat.completions.create(messages=[USER], **asked)

    [choice] = answer.choices
    [call] = choice.message.tool_calls
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    assert (call.function.name, json.loads(call.function.arguments)) == ("ask", {"what": "size"})
    assert answer.usage.total_tokens == 15

    more = [USER, choice.message.model_dump(exclude_none=True), result(call, "large")]
    answer = client.chat.completions.create(messages=more, **{**asked, "tool_choice": "auto"})
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("large ones", "stop")
    assert [[tool["function"]["name"] for tool in body["tools"]] for body in model.asked] == [["order", "ask"]] * 2
    assert model.asked[0]["tool_choice"] == "required"
    assert told(model.asked[1]["messages"]) == ["chairs", ["ask"], "large"]


def test_calls_of_both_sides_in_one_turn_are_each_carried_out_once(client: openai.OpenAI, model: Model) -> None:
    order = ("order", {"prompt": "chairs"})
    model.answers = [
        Calls([order]),
        Calls([("ask", {"what": "size"}), order, ("ask", {"what": "place"})]),
        "done",
        "bye",
    ]
    stream = client.chat.completions.create(
        model="Buyer", messages=[USER], tools=[ASK], stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)

    [delta] = [choice.delta for chunk in chunks for choice in chunk.choices if choice.delta.tool_calls]
    calls = delta.tool_calls
    assert [(call.index, call.function.name, call.function.arguments) for call in calls] == [
        (0, "ask", '{"what":"size"}'),
        (1, "ask", '{"what":"place"}'),
    ]
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason] == [
        "tool_calls"
    ]
    assert chunks[-1].usage.total_tokens == 30

    said = {"role": "assistant", "tool_calls": [call.model_dump(exclude={"index"}) for call in calls]}
    more = [USER, said, result(calls[1], "here"), result(calls[0], "large")]
    answer = client.chat.completions.create(model="Buyer", messages=more, tools=[ASK])
    more += [answer.choices[0].message.model_dump(exclude_none=True), {"role": "user", "content": "thanks"}]
    client.chat.completions.create(model="Buyer", messages=more)

    turn = ["chairs", ["order"], "ordered", ["ask", "order", "ask"], "large", "ordered", "here"]
    assert told(model.asked[2]["messages"]) == turn
    assert told(model.asked[3]["messages"]) == [*turn, "done", "thanks"]


def test_results_that_fit_no_call_are_refused(client: openai.OpenAI, model: Model) -> None:
    model.answers = [Calls([("order", {"prompt": "x"}), ("ask", {"what": "size"})])]
    message = client.chat.completions.create(model="Buyer", messages=[USER], tools=[ASK]).choices[0].message
    said, [call] = message.model_dump(exclude_none=True), message.tool_calls

    forgotten = said["tool_calls"][0] | {"id": f"call_{'0' * 24}_0s"}
    for messages in (
        [USER, said],
        [USER, said, result(call, "large"), {"role": "tool", "tool_call_id": "other", "content": "?"}],
        [USER, {**said, "tool_calls": [forgotten]}, {**result(call, "large"), "tool_call_id": forgotten["id"]}],
    ):
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(model="Buyer", messages=messages, tools=[ASK])
    assert len(model.asked) == 1


def test_a_turn_that_is_forgotten_is_read_as_it_is_told_where_nothing_else_was_run(
    client: openai.OpenAI, model: Model
) -> None:
    model.answers = ["well"]
    call = {"id": f"call_{'0' * 24}_0", "type": "function", "function": {"name": "ask", "arguments": '{"what": "x"}'}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    answered = {"role": "tool", "tool_call_id": call["id"], "content": "large"}
    client.chat.completions.create(model="Buyer", messages=[USER, said, answered], tools=[ASK])

    assert told(model.asked[0]["messages"]) == ["chairs", ["ask"], "large"]


def test_a_choice_of_one_tool_and_options_reach_the_model(client: openai.OpenAI, model: Model) -> None:
    model.answers = [Calls([("ask", {"what": "size"})])]
    options: dict[str, Any] = {"temperature": 0.3, "top_p": 0.8, "max_completion_tokens": 50, "stop": "END"}
    choice = {"type": "function", "function": {"name": "ask"}}
    client.chat.completions.create(model="Buyer", messages=[USER], tools=[ASK], tool_choice=choice, **options)

    sent = {name: model.asked[0][name] for name in ("temperature", "top_p", "max_tokens", "stop", "tool_choice")}
    assert sent == {"temperature": 0.3, "top_p": 0.8, "max_tokens": 50, "stop": ["END"], "tool_choice": choice}


@pytest.mark.parametrize("streams", [False, True])
def test_the_answer_has_the_form_that_is_asked_for(client: openai.OpenAI, model: Model, streams: bool) -> None:
    model.answers = ["well", '```json\n{"n": 1}\n```']
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "json_schema": {"name": "count", "schema": schema, "strict": True}}
    answer = client.chat.completions.create(model="Buyer", messages=[USER], response_format=form, stream=streams)

    if streams:
        text = "".join(choice.delta.content or "" for chunk in answer for choice in chunk.choices)
    else:
        text = answer.choices[0].message.content
    assert text == '{"n":1}'


def test_images_reach_the_model(client: openai.OpenAI, model: Model) -> None:
    model.answers = ["a heron"]
    url = "data:image/png;base64,aGVyb24="
    content = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]
    client.chat.completions.create(model="Buyer", messages=[{"role": "user", "content": content}])

    assert [part.get("image_url", {}).get("url") for part in model.asked[0]["messages"][0]["content"]] == [None, url]


FUNCTION = {"type": "function", "name": "ask", "description": "Asks.", "parameters": SIZE}


def test_the_responses_api_hands_calls_over_and_takes_their_results(client: openai.OpenAI, model: Model) -> None:
    model.answers = [Calls([("ask", {"what": "size"}), ("order", {"prompt": "chairs"})]), "large ones"]
    asked: dict[str, Any] = {"model": "Buyer", "tools": [FUNCTION], "instructions": "Be brief."}
    first = client.responses.create(input="chairs", tool_choice="required", max_output_tokens=50, **asked)

    [call] = first.output
    assert (first.status, call.type, call.name, call.arguments) == (
        *("completed", "function_call", "ask"),
        '{"what":"size"}',
    )
    items: list[Any] = [{"role": "user", "content": "chairs"}, call.model_dump(exclude_none=True)]
    items.append({"type": "function_call_output", "call_id": call.call_id, "output": "large"})
    second = client.responses.create(input=items, **asked)

    assert (second.output_text, second.usage.total_tokens) == ("large ones", 15)
    assert told(model.asked[1]["messages"]) == ["Be brief.", "chairs", ["ask", "order"], "large", "ordered"]
    assert (model.asked[0]["tool_choice"], model.asked[0]["max_tokens"]) == ("required", 50)


def test_the_responses_api_streams(client: openai.OpenAI, model: Model) -> None:
    model.answers = [Calls([("order", {"prompt": "x"})]), "one\ntwo", Calls([("ask", {"what": "size"})])]
    asked: dict[str, Any] = {"model": "Buyer", "tools": [FUNCTION]}
    with client.responses.stream(input="chairs", **asked) as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        first = stream.get_final_response()
    with client.responses.stream(input="chairs", **asked) as stream:
        kinds = [event.type for event in stream]
        second = stream.get_final_response()

    assert (pieces, first.output_text, first.status) == (["one\n", "two"], "one\ntwo", "completed")
    assert [(item.type, item.name) for item in second.output] == [("function_call", "ask")]
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]


@pytest.mark.parametrize("streams", [False, True])
def test_the_responses_api_gives_answers_of_a_form_and_takes_images(
    client: openai.OpenAI, model: Model, streams: bool
) -> None:
    model.answers = ["well", '{"n": 1}']
    url = "data:image/png;base64,aGVyb24="
    content = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": url}]
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    text = {"format": {"type": "json_schema", "name": "count", "schema": schema}}
    asked: dict[str, Any] = {"model": "Buyer", "input": [{"role": "user", "content": content}], "text": text}
    if streams:
        *_, last = client.responses.create(stream=True, **asked)
        answer = last.response
    else:
        answer = client.responses.create(**asked)

    assert answer.output_text == '{"n":1}'
    [sent] = [message for message in model.asked[0]["messages"] if message["role"] == "user"]
    assert [part.get("image_url", {}).get("url") for part in sent["content"]] == [None, url]


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"background": True}, "background"),
        ({"reasoning": {"effort": "high"}}, "reasoning"),
        ({"text": {"verbosity": "low"}}, "text"),
        ({"input": [{"type": "computer_call_output"}]}, "input"),
    ],
)
def test_what_the_responses_api_has_beyond_that_is_refused(
    client: openai.OpenAI, more: dict[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**{"model": "Buyer", "input": "hi", **more})
    assert caught.value.param == param


def test_a_choice_that_no_tool_fits_is_refused(served: Served, tmp_path: Path) -> None:
    (tmp_path / "plain.yaml").write_text(
        "kind: Ai.Agent\nmetadata: { name: Plain }\nmodel: { kind: Ai.ScriptedModel, rules: [{ text: hi }] }"
    )
    with serving(tmp_path, "plain.yaml") as plain, openai.OpenAI(base_url=f"{plain.url}/v1", api_key="none") as client:
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="Plain", messages=[USER], tool_choice="required", stream=True)
        assert caught.value.param == "tool_choice"
