"""`Ai.FallbackModel`: which model answers, and that each is asked in its own format, over real HTTP on loopback."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import msgspec
import pytest
from servers.provider import KEY, Context, Provider, ask, fail, serve_provider

from kinds.ai.fallback_model import FallbackModel
from kinds.ai_anthropic.anthropic_model import AnthropicModel
from kinds.ai_google.gemini_model import GeminiModel
from kinds.ai_openai.openai_model import OpenaiModel
from runtime.ai.agent import Agent
from runtime.ai.contracts import Message, Model, ModelRequest, TextDelta, Tool, ToolCall
from runtime.ai.run import RunRules
from runtime.ai.tool_set import Source
from runtime.kind import Kind

pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"the path": {"type": "string"}}, "required": ["the path"]}
READ = Tool("read", "Read a file.", SCHEMA)


def says(provider: Provider, api: str, text: str) -> None:
    """The provider will say the text, in the words of the API."""
    if api == "openai":
        provider.streams({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]})
    elif api == "gemini":
        provider.streams({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]})
    else:
        content = [{"type": "text", "text": text}]
        provider.answers_whole({"type": "message", "content": content, "stop_reason": "end_turn"})


def calls(provider: Provider, api: str) -> None:
    """The provider will call the tool of `Files`, under the name and with the key that it was offered."""
    if api == "openai":
        function = {"name": "read_file", "arguments": '{"the path": "x"}'}
        call = {"index": 0, "id": "a", "function": function}
        provider.streams({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})
    else:
        use = {"type": "tool_use", "id": "b", "name": "read_file", "input": {"the_path": "x"}}
        provider.answers_whole({"type": "message", "content": [use], "stop_reason": "tool_use"})


@pytest.fixture
async def providers() -> AsyncIterator[list[Provider]]:
    async with serve_provider() as first, serve_provider() as second:
        yield [first, second]


@pytest.fixture
def context() -> Context:
    return Context("Any")


@pytest.fixture
async def fallback(providers: list[Provider], context: Context) -> AsyncIterator[Callable[..., Awaitable[Model]]]:
    """Opens models of two APIs, one a provider and without retries, behind the fallback."""
    kinds: dict[str, type[Kind]] = {"openai": OpenaiModel, "anthropic": AnthropicModel, "gemini": GeminiModel}
    async with AsyncExitStack() as stack:

        async def open_models(*apis: str, **fields: Any) -> Model:
            models = []
            for api, provider in zip(apis, providers, strict=True):
                given = {"model": "m", "apiKey": KEY, "baseUrl": provider.url, "maxRetries": 0}
                models.append(await stack.enter_async_context(msgspec.convert(given, kinds[api]).open(Context(api))))
            return await stack.enter_async_context(FallbackModel(models=models, **fields).open(context))

        yield open_models


async def test_next_model_answers_when_one_fails_and_each_is_asked_in_its_own_format(providers, fallback, context):
    first, second = providers
    model = await fallback("openai", "gemini")
    first.refuses(429, {"error": {"message": "busy"}})
    says(second, "gemini", "hello")

    deltas, _ = await ask(model, Message("system", "Be brief."), Message("user", "hi"), tools=[READ])

    assert deltas == ["hello"]
    assert first.bodies[0]["tools"][0]["function"]["parameters"] == SCHEMA
    assert second.bodies[0]["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] == SCHEMA
    assert context.lines == ['"openai" failed: the provider answered 429: busy; asking "gemini"']


async def test_every_turn_asks_the_first_model_first(providers, fallback):
    first, second = providers
    model = await fallback("openai", "anthropic")
    first.refuses(503, {"error": {"message": "down"}})
    says(second, "anthropic", "two")
    says(first, "openai", "one")

    assert [(await ask(model))[0] for _ in range(2)] == [["two"], ["one"]]


async def test_error_of_the_last_model_is_the_error(providers, fallback):
    first, second = providers
    first.refuses(503, {"error": {"message": "down"}})
    second.refuses(429, {"error": {"message": "busy"}})

    error = await fail(await fallback("openai", "anthropic"))

    assert (error.resource, error.code, error.message, error.hint) == (
        "anthropic",
        "ERR_MODEL_RATE_LIMIT",
        "the provider answered 429: busy",
        'wait, or ask the provider for a higher limit; "openai" had failed before: the provider answered 503: down',
    )


@pytest.mark.parametrize(
    ("status", "failure", "is_usual"),
    [
        (429, "rate-limit", True),
        (402, "rate-limit", True),
        (500, "server", True),
        (529, "server", True),
        (408, "timeout", True),
        (401, "auth", False),
        (400, "request", False),
    ],
)
async def test_manifest_says_after_which_failures(providers, fallback, status, failure, is_usual):
    first, second = providers
    for _ in range(3):
        first.refuses(status, {"error": {"message": "no"}})
    says(second, "anthropic", "two")
    says(second, "anthropic", "two")
    usual = await fallback("openai", "anthropic")
    alone = await fallback("openai", "anthropic", on=[failure])
    others = {"rate-limit", "server", "timeout", "connection", "response", "auth", "request"} - {failure}

    assert (await ask(alone))[0] == ["two"]
    assert (await fail(await fallback("openai", "anthropic", on=sorted(others)))).details["status"] == status
    if is_usual:
        assert (await ask(usual))[0] == ["two"]
    else:
        assert (await fail(usual)).details["status"] == status


async def test_model_that_is_not_there_has_failed(providers, fallback):
    first, second = providers
    model = await fallback("openai", "anthropic")
    first.streams(cut=True)
    says(second, "anthropic", "two")

    assert (await ask(model))[0] == ["two"]


async def test_answer_that_makes_no_sense_has_failed(providers, fallback):
    first, second = providers
    first.streams({"choices": 5})
    says(second, "anthropic", "two")

    assert (await ask(await fallback("openai", "anthropic")))[0] == ["two"]


async def test_nobody_else_is_asked_once_a_word_has_come(providers, fallback):
    first, second = providers
    first.streams({"choices": [{"index": 0, "delta": {"content": "half"}}]}, {"error": {"message": "down"}})

    error = await fail(await fallback("openai", "anthropic"))

    assert (error.message, second.requests) == ("the provider broke off: down", [])


async def test_closing_the_turn_closes_the_request(providers, fallback):
    providers[0].streams({"choices": [{"index": 0, "delta": {"content": "now"}}]}, hang=True)
    turn = (await fallback("openai", "anthropic")).generate(ModelRequest([Message("user", "hi")]))

    with anyio.fail_after(5):
        assert await anext(turn) == TextDelta("now")
        await turn.aclose()
        await providers[0].closed.wait()


@pytest.mark.parametrize("arguments", ['{"the path": "x"}', '{"the'])
async def test_calls_come_back_under_the_keys_of_the_tools_themselves(providers, fallback, arguments):
    first, second = providers
    first.refuses(500, {})
    start = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": arguments.replace("the path", "the_path")}
    second.streams(
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    )

    _, end = await ask(await fallback("openai", "anthropic"), tools=[READ])

    assert list(second.bodies[0]["tools"][0]["input_schema"]["properties"]) == ["the_path"]
    assert end.tool_calls == [ToolCall("a", "read", arguments.replace(": ", ":"))]


class Files:
    """A provider of one tool, whose name and argument not every API takes; `asked` is what it was called with."""

    def __init__(self) -> None:
        self.tools = [Tool("read file", "Read a file.", SCHEMA)]
        self.asked: list[Any] = []

    async def list_tools(self) -> list[Tool]:
        return self.tools

    async def call_tool(self, name: str, arguments: Any) -> str:
        self.asked.append((name, dict(arguments)))
        return "milk"


@pytest.mark.parametrize("apis", [("openai", "anthropic"), ("anthropic", "openai")])
async def test_run_goes_on_with_another_model_and_back(providers, fallback, apis):
    first, second = providers
    calls(first, apis[0])
    first.refuses(500, {})
    calls(second, apis[1])
    says(first, apis[0], "done")
    files = Files()
    agent = Agent("Main", await fallback(*apis), [Source(files, "Files")], RunRules(), pytest.fail)

    answer = await agent.invoke({"prompt": "go"})

    assert answer["text"] == "done"
    assert files.asked == [("read file", {"the path": "x"})] * 2
    assert [len(provider.requests) for provider in providers] == [3, 1]


async def test_no_more_tools_are_offered_than_each_of_the_models_takes(fallback):
    model = await fallback("anthropic", "gemini")

    assert (model.tool_format, model.max_tools) == ("anthropic", 512)


def test_manifest_is_checked(validate):
    models = "[{ kind: Ai.ScriptedModel }, { kind: Ai.ScriptedModel }]"
    head = (
        "kind: Ai.Agent\nmetadata: { name: A }\nmodel: !ref Any\n---\nkind: Ai.FallbackModel\nmetadata: { name: Any }\n"
    )

    good = validate(f"{head}models: {models}\non: [server, auth]\n")
    bad = validate(f"{head}models: [{{ kind: Ai.ScriptedModel }}]\non: [sever]\n")

    assert (good, [each.split()[:2] for each in bad]) == ([], [["7:9", "SCHEMA_VALUE"], ["8:6", "SCHEMA_VALUE"]])
