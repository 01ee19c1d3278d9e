"""`runtime serve` as OpenAI's own client sees it."""

from collections.abc import Iterator

import openai
import pytest
from serving import SECRET, Gate, Served, gated

TOKEN = "a-token-for-the-tests"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Gate]]:
    with gated(tmp_path_factory.mktemp("service"), RUNTIME_SERVE_TOKEN=TOKEN) as pair:
        yield pair


@pytest.fixture
def client(service: tuple[Served, Gate]) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{service[0].url}/v1", api_key=TOKEN) as client:
        yield client


def ask(text: str) -> dict[str, object]:
    return {"model": "Porter", "messages": [{"role": "user", "content": text}]}


def test_agents_are_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["Porter"]
    assert client.models.retrieve("Porter").owned_by == "runtime"


def test_an_answer_comes_whole(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(**ask("hi"))

    [choice] = answer.choices
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", "hello", "stop")
    assert (answer.object, answer.model, answer.usage.total_tokens) == ("chat.completion", "Porter", 0)


def test_an_answer_comes_in_chunks_while_tools_run(client: openai.OpenAI, service: tuple[Served, Gate]) -> None:
    stream = client.chat.completions.create(**ask("gate"), stream=True, stream_options={"include_usage": True})
    chunks = []
    for chunk in stream:
        chunks.append(chunk)
        if "".join(_text(each) for each in chunks) == "I ask the gate" and len(chunks) == 5:
            service[1].wait_for_call().sendall(b"yes")

    assert "".join(map(_text, chunks)) == "I ask the gate\n\nthe gate said yes"
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason] == ["stop"]
    assert (chunks[0].choices[0].delta.role, chunks[-1].usage.total_tokens) == ("assistant", 0)
    assert {chunk.id for chunk in chunks} == {chunks[0].id}


def _text(chunk: object) -> str:
    return "".join(choice.delta.content or "" for choice in chunk.choices)  # type: ignore[attr-defined]


def test_a_secret_does_not_come_in_chunks_either(client: openai.OpenAI) -> None:
    text = "".join(map(_text, client.chat.completions.create(**ask("secret"), stream=True)))

    assert (text, SECRET in text) == ("it is ***, yes", False)


def test_a_conversation_goes_on_with_tool_calls_images_and_a_system_text(client: openai.OpenAI) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVyb24="}}
    call = {"id": "c1", "type": "function", "function": {"name": "wait", "arguments": "{}"}}
    messages = [
        {"role": "developer", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a heron"},
    ]
    answer = client.chat.completions.create(model="Porter", messages=messages)

    assert answer.choices[0].message.content == "the gate said a heron"


def test_an_unknown_agent_is_not_found(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(**{**ask("hi"), "model": "Nobody"})
    assert caught.value.code == "ERR_SERVE_NOT_FOUND"


@pytest.mark.parametrize(
    "more",
    [
        {"n": 2},
        {"seed": 1},
        {"frequency_penalty": 0.5},
        {"parallel_tool_calls": False},
        {"reasoning_effort": "high"},
        {"functions": [{"name": "old"}]},
        {"extra_body": {"top_k": 5}},
        {"stream_options": {"include_usage": True}},
        {"temperature": 3},
        {"stop": ["1", "2", "3", "4", "5"]},
        {"response_format": {"type": "yaml"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
        {"tools": [{"type": "custom", "custom": {"name": "x"}}]},
        {"tools": [{"type": "function", "function": {"name": "no blanks"}}]},
        {"tools": [{"type": "function", "function": {"name": "wait"}}]},
        {"tool_choice": "sometimes"},
        {"messages": [{"role": "system", "content": "only this"}]},
        {"messages": [{"role": "narrator", "content": "hm"}]},
        {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/y.png"}}]}]},
    ],
)
def test_what_an_agent_cannot_do_is_refused(client: openai.OpenAI, more: dict[str, object]) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**{**ask("hi"), **more})
    assert (caught.value.type, caught.value.message != "") == ("invalid_request_error", True)


def test_a_refusal_names_the_field_that_is_at_fault(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**ask("hi"), seed=1, stream=True)
    assert (caught.value.param, caught.value.code) == ("seed", "ERR_SERVE_REQUEST")


def test_fields_that_ask_for_nothing_are_taken(client: openai.OpenAI) -> None:
    more = {"frequency_penalty": 0, "logprobs": False, "parallel_tool_calls": True, "n": 1, "tool_choice": "auto"}
    answer = client.chat.completions.create(**ask("hi"), user="me", metadata={"a": "b"}, store=False, **more)

    assert answer.choices[0].message.content == "hello"


def test_a_wrong_key_is_refused(service: tuple[Served, Gate]) -> None:
    with (
        openai.OpenAI(base_url=f"{service[0].url}/v1", api_key="another") as client,
        pytest.raises(openai.AuthenticationError),
    ):
        client.models.list()
