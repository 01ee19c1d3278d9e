"""The loop: turns, tool calls, events, limits."""

from contextlib import aclosing
from typing import Any

import anyio
import msgspec
import pytest

from runtime.ai.contracts import Image, Message, ModelRequest, Text, TextDelta, ToolCall, ToolResult, TurnEnd, Usage
from runtime.ai.events import Answer, Failed, Finished, MediaMade, ToolAnswered, ToolCalled
from runtime.ai.limits import Limits
from runtime.ai.turn import ToolRules
from runtime.errors import AgentError, ModelError, ToolError

pytestmark = pytest.mark.anyio


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def without_times(answer: dict[str, Any]) -> dict[str, Any]:
    for step in answer["steps"]:
        for result in step["toolResults"]:
            assert result.pop("durationMs", 0) >= 0
    return answer


class Recorder:
    """A model that keeps what it was asked and gives the turns that it was made with."""

    tool_format = ""
    max_tools = None

    def __init__(self, *turns: TurnEnd) -> None:
        self.turns = list(turns)
        self.requests: list[ModelRequest] = []

    async def generate(self, request: ModelRequest) -> Any:
        self.requests.append(ModelRequest(list(request.messages), request.tools, request.options, request.tool_choice))
        yield TextDelta("t")
        yield self.turns.pop(0)


def wants(*calls: ToolCall) -> TurnEnd:
    return TurnEnd(calls, "tool-calls", Usage(10, 1, 11, 4, 2))


DONE = TurnEnd((), "stop", Usage(20, 2, 22, 8, 4))


async def test_answer_is_text_usage_finish_reason_and_every_step(script, toolbox, agent):
    usage = {"promptTokens": 7, "completionTokens": 3, "cachedTokens": 2, "reasoningTokens": 1}
    model = await script(
        turns=[
            {"text": "I look.", "toolCalls": [call("read", text="a")], "usage": usage},
            {"text": "It says milk.", "usage": usage},
        ]
    )
    files = toolbox("Files", read=lambda text: ToolResult("milk", [{"type": "audio"}]))

    answer = await agent(model, files).invoke({"prompt": "Read a"})

    assert without_times(answer) == {
        "text": "It says milk.",
        "usage": {
            "promptTokens": 14,
            "completionTokens": 6,
            "totalTokens": 20,
            "cachedTokens": 4,
            "reasoningTokens": 2,
        },
        "finishReason": "stop",
        "steps": [
            {
                "text": "I look.",
                "toolCalls": [{"id": "call_1_0", "name": "read", "arguments": {"text": "a"}}],
                "toolResults": [
                    {"toolCallId": "call_1_0", "name": "read", "content": "milk", "rest": [{"type": "audio"}]}
                ],
            },
            {"text": "It says milk.", "toolCalls": [], "toolResults": []},
        ],
    }


async def test_events_come_in_order_and_end_with_finish(script, toolbox, agent):
    model = await script(turns=[{"text": "a b", "toolCalls": [call("one"), call("two")]}, {"text": "done"}])
    tools = toolbox("Tools", one=lambda: "1", two=lambda: {"n": 2})

    events = [event async for event in agent(model, tools).run({"prompt": "go"})]

    answered = [msgspec.structs.replace(event, duration_ms=0) for event in events if isinstance(event, ToolAnswered)]
    assert [event for event in events if not isinstance(event, ToolAnswered)] == [
        TextDelta("a"),
        TextDelta(" b"),
        ToolCalled("call_1_0", "one", {}),
        ToolCalled("call_1_1", "two", {}),
        TextDelta("done"),
        Finished("done", "stop", Usage()),
    ]
    assert answered == [ToolAnswered("call_1_0", "one", "1"), ToolAnswered("call_1_1", "two", '{"n":2}')]
    assert events.index(TextDelta("done")) > max(map(events.index, [e for e in events if isinstance(e, ToolAnswered)]))


async def test_events_encode_to_json_with_their_type(script, agent):
    model = await script(turns=[{"text": "hi"}])

    events = [event async for event in agent(model).run({"prompt": "go"})]

    assert [msgspec.json.decode(msgspec.json.encode(event)) for event in events] == [
        {"type": "text-delta", "text": "hi"},
        {
            "type": "finish",
            "text": "hi",
            "finishReason": "stop",
            "usage": dict.fromkeys(
                ["promptTokens", "completionTokens", "totalTokens", "cachedTokens", "reasoningTokens"], 0
            ),
        },
    ]


async def test_error_is_the_last_event_and_is_raised_after_it(agent):
    class Broken:
        tool_format = ""
        max_tools = None

        async def generate(self, request: ModelRequest) -> Any:
            yield TextDelta("so far")
            raise ModelError(
                "the provider answered 500", code="ERR_MODEL_HTTP", resource="Gpt", details={"status": 500}
            )

    events = []
    with pytest.raises(ModelError) as raised:
        async for event in agent(Broken()).run({"prompt": "go"}):
            events.append(event)

    assert events == [
        TextDelta("so far"),
        Failed("ERR_MODEL_HTTP", "the provider answered 500", "Gpt", None, {"status": 500}),
    ]
    assert raised.value.code == "ERR_MODEL_HTTP"


async def test_model_that_ends_without_an_end_is_an_error(agent):
    class Cut:
        tool_format = ""
        max_tools = None

        async def generate(self, request: ModelRequest) -> Any:
            yield TextDelta("so far")

    with pytest.raises(ModelError, match="came to no end") as raised:
        await agent(Cut()).invoke({"prompt": "go"})

    assert (raised.value.code, raised.value.resource) == ("ERR_MODEL_RESPONSE", "Assistant")


async def test_model_sees_the_whole_conversation(toolbox, agent):
    model = Recorder(wants(ToolCall("a", "add", '{"x":1}'), ToolCall("b", "fail", "{}")), DONE)

    def fail() -> None:
        raise ToolError("disk on fire")

    await agent(model, toolbox("Tools", add=lambda x: [Text("2"), Image("aGk=", "image/png")], fail=fail)).invoke(
        {"prompt": "go"}
    )

    assert model.requests[1].messages == [
        Message("user", "go"),
        Message("assistant", "t", [ToolCall("a", "add", '{"x":1}'), ToolCall("b", "fail", "{}")]),
        Message("tool", [Text("2"), Image("aGk=", "image/png")], tool_call_id="a", name="add"),
        Message("tool", "disk on fire", tool_call_id="b", name="fail", is_error=True),
    ]


async def test_usage_is_summed_over_turns(toolbox, agent):
    model = Recorder(wants(ToolCall("a", "one", "")), DONE)

    answer = await agent(model, toolbox("Tools", one=lambda: "1")).invoke({"prompt": "go"})

    assert answer["usage"] == {
        "promptTokens": 30,
        "completionTokens": 3,
        "totalTokens": 33,
        "cachedTokens": 12,
        "reasoningTokens": 6,
    }


async def test_provider_data_of_a_turn_goes_back_to_the_model(toolbox, agent):
    turn = TurnEnd([ToolCall("a", "one", "")], "tool-calls", Usage(), {"signature": "s1"})
    model = Recorder(turn, DONE)

    await agent(model, toolbox("Tools", one=lambda: "1")).invoke({"prompt": "go"})

    assert model.requests[1].messages[1].provider_data == {"signature": "s1"}


async def test_calls_without_an_id_of_their_own_get_one(toolbox, agent):
    model = Recorder(wants(ToolCall("", "one", ""), ToolCall("x", "one", ""), ToolCall("x", "one", "")), DONE)

    answer = await agent(model, toolbox("Tools", one=lambda: "1")).invoke({"prompt": "go"})

    assert [each["id"] for each in answer["steps"][0]["toolCalls"]] == ["call_1_0", "x", "call_1_2"]
    assert [message.tool_call_id for message in model.requests[1].messages[2:]] == ["call_1_0", "x", "call_1_2"]


async def test_max_steps_throws_without_running_the_last_calls(script, toolbox, agent):
    model = await script(
        rules=[{"toolCalls": [call("one")]}, {"when": {"toolResult": "."}, "toolCalls": [call("one")]}]
    )
    tools = toolbox("Tools", one=lambda: "1")

    with pytest.raises(AgentError) as raised:
        await agent(model, tools, max_steps=3).invoke({"prompt": "go"})

    assert (raised.value.code, raised.value.resource) == ("ERR_AGENT_MAX_STEPS", "Assistant")
    assert raised.value.details == {"maxSteps": 3}
    assert len(tools.calls) == 2


async def test_max_steps_can_return_the_text_that_there_is(script, toolbox, agent):
    model = await script(turns=[{"toolCalls": [call("one")]}, {"text": "so far", "toolCalls": [call("one")]}])

    answer = await agent(model, toolbox("Tools", one=lambda: "1"), max_steps=2, on_max_steps="return").invoke(
        {"prompt": "go"}
    )

    assert (answer["text"], answer["finishReason"], len(answer["steps"])) == ("so far", "tool-calls", 2)


async def test_default_is_eight_steps(script, toolbox, agent):
    model = await script(
        rules=[{"toolCalls": [call("one")]}, {"when": {"toolResult": "."}, "toolCalls": [call("one")]}]
    )
    tools = toolbox("Tools", one=lambda: "1")

    with pytest.raises(AgentError):
        await agent(model, tools).invoke({"prompt": "go"})

    assert len(tools.calls) == 7


async def test_no_tool_calls_end_the_run_whatever_the_reason(agent):
    answer = await agent(Recorder(TurnEnd((), "length", Usage()))).invoke({"prompt": "go"})

    assert (answer["text"], answer["finishReason"]) == ("t", "length")


async def test_calls_of_a_turn_run_at_the_same_time_and_answer_in_call_order(script, toolbox, agent):
    started: list[str] = []
    all_started = anyio.Event()
    last_done = anyio.Event()

    async def meet(text: str) -> str:
        started.append(text)
        if len(started) == 3:
            all_started.set()
        await all_started.wait()
        if text == "c":
            last_done.set()
        await last_done.wait()
        return text

    model = await script(turns=[{"toolCalls": [call("meet", text=t) for t in "abc"]}, {"text": "done"}])

    with anyio.fail_after(5):
        answer = await agent(model, toolbox("Tools", meet=meet)).invoke({"prompt": "go"})

    assert [result["content"] for result in answer["steps"][0]["toolResults"]] == ["a", "b", "c"]


async def test_a_result_is_told_while_calls_behind_it_run(script, toolbox, agent):
    model = await script(turns=[{"toolCalls": [call("quick"), call("slow")]}, {"text": "done"}])
    may_end = anyio.Event()

    async def slow() -> str:
        await may_end.wait()
        return "2"

    told = []
    with anyio.fail_after(5):
        async with aclosing(agent(model, toolbox("Tools", quick=lambda: "1", slow=slow)).run({"prompt": "go"})) as run:
            async for event in run:
                if isinstance(event, ToolAnswered):
                    told.append((event.name, event.content, may_end.is_set()))
                    may_end.set()

    assert told == [("quick", "1", False), ("slow", "2", True)]


async def test_no_more_calls_run_at_once_than_allowed(script, toolbox, agent):
    running = most = 0

    async def count() -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        running -= 1
        return "1"

    model = await script(turns=[{"toolCalls": [call("count")] * 7}, {"text": "done"}])

    answer = await agent(model, toolbox("Tools", count=count), tools=ToolRules(parallel=3)).invoke({"prompt": "go"})

    assert (most, len(answer["steps"][0]["toolResults"])) == (3, 7)


async def test_tool_error_is_fed_back_and_stands_in_the_trace(script, toolbox, agent):
    model = await script(turns=[{"toolCalls": [call("fail"), call("one")]}, {"text": "done"}])

    def fail() -> None:
        raise ToolError("disk on fire", code="ERR_DISK")

    answer = await agent(model, toolbox("Tools", fail=fail, one=lambda: "1")).invoke({"prompt": "go"})

    assert without_times(answer)["steps"][0]["toolResults"] == [
        {"toolCallId": "call_1_0", "name": "fail", "content": "disk on fire", "isError": True, "code": "ERR_DISK"},
        {"toolCallId": "call_1_1", "name": "one", "content": "1"},
    ]


async def test_tool_error_can_end_the_run_and_the_other_calls(script, toolbox, agent):
    model = await script(turns=[{"toolCalls": [call("hang"), call("fail")]}])
    ended = []

    async def hang() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("hang")

    async def fail() -> None:
        raise ToolError("disk on fire", code="ERR_DISK", resource="Disk")

    with anyio.fail_after(5), pytest.raises(ToolError) as raised:
        await agent(model, toolbox("Tools", hang=hang, fail=fail), tools=ToolRules("throw")).invoke({"prompt": "go"})

    assert (raised.value.code, raised.value.resource, ended) == ("ERR_DISK", "Disk", ["hang"])


@pytest.mark.parametrize(
    ("wanted", "code", "words"),
    [
        ({"name": "gone", "allowUnknown": True}, "ERR_TOOL_UNKNOWN", 'there is no tool "gone"; the tools are: read'),
        ({"name": "read", "rawArguments": '{"text": '}, "ERR_TOOL_ARGUMENTS", "the arguments are no valid JSON: "),
        ({"name": "read", "rawArguments": "[1]"}, "ERR_TOOL_ARGUMENTS", "the arguments are no JSON object"),
        (
            {"name": "read", "arguments": {"text": 5}},
            "ERR_TOOL_ARGUMENTS",
            'the arguments do not fit the tool "read": /text: ',
        ),
    ],
)
async def test_call_that_cannot_be_made_reaches_no_provider(script, toolbox, agent, wanted, code, words):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    files = toolbox("Files", read=lambda text: text).describe("read", schema)
    turns = [{"toolCalls": [wanted]}, {"text": "done"}]

    answer = await agent(await script(turns=turns), files).invoke({"prompt": "go"})
    with pytest.raises(ToolError) as raised:
        await agent(await script(turns=turns), files, tools=ToolRules("throw")).invoke({"prompt": "go"})

    (result,) = answer["steps"][0]["toolResults"]
    assert (result["isError"], result["code"]) == (True, code)
    assert result["content"].startswith(words)
    assert raised.value.code == code
    assert files.calls == []


async def test_broken_arguments_stand_in_the_trace_as_the_model_wrote_them(script, toolbox, agent):
    model = await script(turns=[{"toolCalls": [{"name": "one", "rawArguments": '{"a": '}]}, {"text": "done"}])

    answer = await agent(model, toolbox("Tools", one=lambda: "1")).invoke({"prompt": "go"})

    assert answer["steps"][0]["toolCalls"] == [{"id": "call_1_0", "name": "one", "arguments": '{"a": '}]


async def test_tool_outside_the_filter_is_refused_without_reaching_its_provider(script, toolbox, agent):
    from runtime.ai.tool_set import Source

    files = toolbox("Files", read=lambda: "r", delete=lambda: "gone")
    model = await script(turns=[{"toolCalls": [{"name": "delete", "allowUnknown": True}]}, {"text": "done"}])

    answer = await agent(model, Source(files, "Files", include=["read"])).invoke({"prompt": "go"})

    assert answer["steps"][0]["toolResults"][0]["content"] == 'there is no tool "delete"; the tools are: read'
    assert files.calls == []


@pytest.mark.parametrize("output", ["", [], [Text("")], " \n"])
async def test_empty_result_is_no_empty_message(toolbox, agent, output):
    model = Recorder(wants(ToolCall("a", "one", "")), DONE)

    await agent(model, toolbox("Tools", one=lambda: output)).invoke({"prompt": "go"})

    assert model.requests[1].messages[2].content == "(no output)"


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ({"n": 3}, '{"n":3}'),
        ({}, "{}"),
        ([1, 2], "[1,2]"),
        (None, "null"),
        (True, "true"),
        ([{"type": "audio", "data": "x"}], '[{"type":"audio","data":"x"}]'),
    ],
)
async def test_any_other_output_is_read_as_its_json_text(toolbox, agent, output, content):
    model = Recorder(wants(ToolCall("a", "one", "")), DONE)

    await agent(model, toolbox("Tools", one=lambda: output)).invoke({"prompt": "go"})

    assert model.requests[1].messages[2].content == content


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 10 + "\n[the result is cut here: it has 11 characters, and 10 are shown]"),
        (
            [Text("x" * 7), Image("aGk=", "image/png"), Text("y" * 7), Text("z")],
            [
                Text("x" * 7),
                Image("aGk=", "image/png"),
                Text("y" * 3),
                Text("\n[the result is cut here: it has 15 characters, and 10 are shown]"),
            ],
        ),
    ],
)
async def test_long_result_is_cut_with_a_note(toolbox, agent, output, content):
    model = Recorder(wants(ToolCall("a", "one", "")), DONE)

    await agent(model, toolbox("Tools", one=lambda: output), tools=ToolRules(longest=10)).invoke({"prompt": "go"})

    assert model.requests[1].messages[2].content == content


@pytest.mark.parametrize("output", [object(), {"a": {1: {}, (2, 3): 4}}, b"\xff".hex])
async def test_output_that_is_no_json_value_is_the_error_of_the_tool(script, toolbox, agent, output):
    model = await script(turns=[{"toolCalls": [call("one")]}, {"text": "done"}])

    answer = await agent(model, toolbox("Tools", one=lambda: output)).invoke({"prompt": "go"})

    (result,) = answer["steps"][0]["toolResults"]
    assert result["code"] == "ERR_TOOL_FAILED"
    assert result["content"].startswith("the tool gave back what is no JSON value: ")


async def test_half_a_surrogate_pair_in_a_result_is_replaced(toolbox, agent):
    model = Recorder(wants(ToolCall("a", "one", "")), DONE)

    await agent(model, toolbox("Tools", one=lambda: "a\ud83d")).invoke({"prompt": "go"})

    assert model.requests[1].messages[2].content == "a\ufffd"


async def test_exception_of_a_provider_is_a_tool_error_and_a_warning(script, toolbox, agent, context):
    model = await script(turns=[{"toolCalls": [call("one")]}, {"text": "done"}])

    answer = await agent(model, toolbox("Tools", one=lambda: {}["key"])).invoke({"prompt": "go"})

    (result,) = answer["steps"][0]["toolResults"]
    assert (result["isError"], result["code"], result["content"]) == (True, "ERR_TOOL_FAILED", 'the tool "one" failed')
    assert context.warnings == ['the provider "Tools" raised KeyError in the tool "one": \'key\'']


async def test_tool_that_takes_too_long_is_an_error_of_the_tool(script, toolbox, agent):
    model = await script(turns=[{"toolCalls": [call("hang")]}, {"text": "done"}])

    with anyio.fail_after(5):
        answer = await agent(model, toolbox("Tools", hang=anyio.sleep_forever), tools=ToolRules(timeout=0.01)).invoke(
            {"prompt": "go"}
        )

    (result,) = answer["steps"][0]["toolResults"]
    assert (result["code"], result["content"]) == ("ERR_TOOL_TIMEOUT", 'the tool "hang" did not answer within 0.01 s')


async def test_time_limit_error_of_the_tool_itself_is_not_taken_for_the_agents(script, toolbox, agent):
    model = await script(turns=[{"toolCalls": [call("one")]}, {"text": "done"}])

    def give_up() -> None:
        raise TimeoutError("the disk")

    answer = await agent(model, toolbox("Tools", one=give_up), tools=ToolRules(timeout=60)).invoke({"prompt": "go"})

    assert answer["steps"][0]["toolResults"][0]["code"] == "ERR_TOOL_FAILED"


async def test_token_limit_stops_before_the_model_is_asked_again(toolbox, agent):
    model = Recorder(wants(ToolCall("a", "one", "")), DONE)

    with pytest.raises(AgentError) as raised:
        await agent(model, toolbox("Tools", one=lambda: "1"), limits=Limits(tokens=11)).invoke({"prompt": "go"})

    assert (raised.value.code, raised.value.details) == ("ERR_AGENT_LIMIT", {"limit": "tokens", "value": 11})
    assert len(model.requests) == 1


async def test_token_limit_takes_an_answer_that_is_complete(agent):
    answer = await agent(Recorder(DONE), limits=Limits(tokens=1)).invoke({"prompt": "go"})

    assert answer["text"] == "t"


async def test_call_limit_runs_none_of_the_calls_that_are_too_many(script, toolbox, agent):
    model = await script(turns=[{"toolCalls": [call("one")]}, {"toolCalls": [call("one")] * 2}])
    tools = toolbox("Tools", one=lambda: "1")

    with pytest.raises(AgentError) as raised:
        await agent(model, tools, limits=Limits(tool_calls=2)).invoke({"prompt": "go"})

    assert (raised.value.code, raised.value.details) == ("ERR_AGENT_LIMIT", {"limit": "toolCalls", "value": 2})
    assert len(tools.calls) == 1


async def test_time_limit_cancels_a_tool_call(script, toolbox, agent):
    model = await script(turns=[{"toolCalls": [call("hang")]}])

    with anyio.fail_after(5), pytest.raises(AgentError) as raised:
        await agent(model, toolbox("Tools", hang=anyio.sleep_forever), limits=Limits(seconds=0.02)).invoke(
            {"prompt": "go"}
        )

    assert (raised.value.code, raised.value.details) == ("ERR_AGENT_LIMIT", {"limit": "seconds", "value": 0.02})


async def test_time_limit_cancels_the_model(agent):
    ended = []

    class Slow:
        tool_format = ""
        max_tools = None

        async def generate(self, request: ModelRequest) -> Any:
            try:
                yield TextDelta("so far")
                await anyio.sleep_forever()
            finally:
                ended.append("model")

    with anyio.fail_after(5), pytest.raises(AgentError, match=r"not done after 0\.02 s"):
        await agent(Slow(), limits=Limits(seconds=0.02)).invoke({"prompt": "go"})

    assert ended == ["model"]


async def test_closing_the_run_closes_the_models_turn(agent):
    ended = []

    class Endless:
        tool_format = ""
        max_tools = None

        async def generate(self, request: ModelRequest) -> Any:
            try:
                while True:
                    yield TextDelta("on and on")
            finally:
                ended.append("model")

    async with aclosing(agent(Endless()).run({"prompt": "go"})) as events:
        async for _ in events:
            break

    assert ended == ["model"]


async def test_cancelling_the_run_cancels_its_tool_calls(script, toolbox, agent):
    model = await script(turns=[{"toolCalls": [call("hang")] * 2}])
    started = anyio.Event()
    ended = []

    async def hang() -> None:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("hang")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(agent(model, toolbox("Tools", hang=hang)).invoke, {"prompt": "go"})
            await started.wait()
            group.cancel_scope.cancel()

    assert ended == ["hang", "hang"]


async def test_runs_at_the_same_time_do_not_mix(script, toolbox, agent):
    model = await script(
        rules=[{"when": {"user": r"n(\d+)"}, "toolCalls": [call("one")]}, {"when": {"toolResult": "."}, "text": "done"}]
    )
    shared = agent(model, toolbox("Tools", one=lambda: "1"))
    answers: list[dict[str, Any]] = []

    async def ask(number: int) -> None:
        answers.append(await shared.invoke({"prompt": f"n{number}"}))

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(ask, number)

    assert [(answer["text"], len(answer["steps"])) for answer in answers] == [("done", 2)] * 20


async def test_options_of_the_call_go_before_the_agents(agent):
    model = Recorder(DONE)

    await agent(model, options={"temperature": 0, "seed": 1}).invoke({"prompt": "go", "options": {"temperature": 1}})

    assert model.requests[0].options == {"temperature": 1, "seed": 1}


@pytest.mark.parametrize(
    ("choice", "later"), [("required", "auto"), ("one", "auto"), ("none", "none"), ("auto", "auto")]
)
async def test_tool_choice_holds_for_the_first_turn_and_none_for_all(toolbox, agent, choice, later):
    model = Recorder(wants(ToolCall("a", "one", "")), DONE)

    await agent(model, toolbox("Tools", one=lambda: "1"), tool_choice=choice).invoke({"prompt": "go"})

    assert [request.tool_choice for request in model.requests] == [choice, later]


async def test_tool_choice_that_is_not_offered_is_an_error(toolbox, agent):
    with pytest.raises(AgentError) as raised:
        await agent(Recorder(), toolbox("Tools", one=lambda: "1"), tool_choice="two").invoke({"prompt": "go"})

    assert (raised.value.code, raised.value.hint) == ("ERR_AGENT_TOOL_CHOICE", "the tools are: one")


async def test_another_run_goes_on_from_the_messages_of_the_first(agent):
    model = Recorder(DONE, DONE)
    shared = agent(model, system="Be brief.")
    first = shared.start({"prompt": "one"})
    assert [event async for event in first.events()][-1] == Finished("t", "stop", DONE.usage)

    await shared.invoke({"messages": [*first.messages, Message("user", "two")]})

    assert model.requests[1].messages == [
        Message("system", "Be brief."),
        Message("user", "one"),
        Message("assistant", "t"),
        Message("user", "two"),
    ]


def team(agent: Any, toolbox: Any, *turns: TurnEnd, model: Any, **rules: Any) -> Any:
    """An agent that uses another, of these turns, as a tool; the other one has a tool `look` of its own."""
    inner = Recorder(*turns)
    helper = agent(inner, toolbox("Eyes", look=lambda: "seen"))
    return agent(model, toolbox("Team", ask=lambda: helper.invoke({"prompt": "look"})), **rules), inner


def costs(end: TurnEnd, cost: float) -> TurnEnd:
    return msgspec.structs.replace(end, usage=msgspec.structs.replace(end.usage, cost=cost))


ASK, LOOK = wants(ToolCall("1", "ask", "{}")), wants(ToolCall("1", "look", "{}"))


async def test_what_an_agent_below_uses_counts_in_the_usage_of_its_caller(toolbox, agent):
    main, _ = team(
        agent, toolbox, costs(LOOK, 0.5), costs(DONE, 0.25), model=Recorder(costs(ASK, 1.0), costs(DONE, 2.0))
    )

    answer = await main.invoke({"prompt": "go"})

    # the caller's turns 11 + 22, and those of the other one, 11 + 22
    assert answer["usage"] == {
        "promptTokens": 60,
        "completionTokens": 6,
        "totalTokens": 66,
        "cachedTokens": 24,
        "reasoningTokens": 12,
        "cost": 3.75,
    }
    assert msgspec.json.decode(answer["steps"][0]["toolResults"][0]["content"])["usage"]["totalTokens"] == 33


@pytest.mark.parametrize(
    ("limits", "limit", "words"),
    [
        (Limits(tokens=30), {"limit": "tokens", "value": 30}, "the run used 33 tokens, and 30 are allowed"),
        (Limits(cost=1.2), {"limit": "cost", "value": 1.2}, "the run cost 1.5, and 1.2 is allowed"),
    ],
)
async def test_limit_that_an_agent_below_goes_past_stops_both(toolbox, agent, limits, limit, words):
    model = Recorder(costs(ASK, 0.5))
    main, inner = team(agent, toolbox, *[costs(LOOK, 0.5)] * 9, model=model, limits=limits)

    with pytest.raises(AgentError) as raised:
        await main.invoke({"prompt": "go"})

    assert (raised.value.code, raised.value.resource, raised.value.details) == ("ERR_AGENT_LIMIT", "Assistant", limit)
    assert raised.value.message == words
    assert (len(model.requests), len(inner.requests)) == (1, 2)


async def test_limit_holds_through_an_agent_between(toolbox, agent):
    middle, inner = team(agent, toolbox, *[LOOK] * 9, model=Recorder(ASK))
    outer = agent(Recorder(ASK), toolbox("Top", ask=lambda: middle.invoke({"prompt": "go"})), limits=Limits(tokens=40))

    with pytest.raises(AgentError) as raised:
        await outer.invoke({"prompt": "go"})

    assert raised.value.details == {"limit": "tokens", "value": 40}
    assert len(inner.requests) == 2


async def test_limit_of_the_agent_below_is_the_error_of_its_tool(toolbox, agent):
    helper = agent(Recorder(LOOK), toolbox("Eyes", look=lambda: "seen"), limits=Limits(tokens=1))
    main = agent(Recorder(ASK, DONE), toolbox("Team", ask=lambda: helper.invoke({"prompt": "look"})))

    answer = await main.invoke({"prompt": "go"})

    assert answer["steps"][0]["toolResults"][0]["code"] == "ERR_AGENT_LIMIT"
    assert answer["usage"]["totalTokens"] == 44


async def test_limit_of_cost_is_not_blind_to_an_agent_below_without_prices(toolbox, agent):
    main, _ = team(agent, toolbox, LOOK, DONE, model=Recorder(costs(ASK, 0.5)), limits=Limits(cost=9))

    with pytest.raises(AgentError, match=r"the run has a limit of cost, and .* has no prices"):
        await main.invoke({"prompt": "go"})


async def test_runs_that_take_turns_in_one_task_do_not_pay_for_each_other(agent):
    one, two = agent(Recorder(DONE)).run({"prompt": "a"}), agent(Recorder(DONE)).run({"prompt": "b"})

    async with aclosing(one), aclosing(two):
        await anext(one)
        ends = [event async for event in two if isinstance(event, Finished)]
        ends += [event async for event in one if isinstance(event, Finished)]

    assert [end.usage.total_tokens for end in ends] == [22, 22]


PICTURE = Image("aGk=", "image/png")
SHOWS = TurnEnd((), "stop", Usage(), None, (PICTURE,), ({"audio": "x"},))


async def test_what_a_model_makes_beside_text_is_told_and_in_the_answer(toolbox, agent):
    turns = (msgspec.structs.replace(LOOK, images=(PICTURE,)), SHOWS)
    model = Recorder(*turns)
    run = agent(model, toolbox("Eyes", look=lambda: "seen")).start({"prompt": "draw"})

    answer = Answer()
    events = []
    async for event in run.events():
        events.append(event)
        answer.add(event)

    told = {"type": "image", "data": "aGk=", "mediaType": "image/png"}
    assert [event for event in events if isinstance(event, MediaMade)] == [
        MediaMade((PICTURE,)),
        MediaMade((PICTURE,), ({"audio": "x"},)),
    ]
    assert [type(event) for event in events[:3]] == [TextDelta, MediaMade, ToolCalled]
    result = answer.to_json()
    assert (result["text"], result["images"]) == ("t", [told])
    assert [(step["images"], step.get("rest")) for step in result["steps"]] == [
        ([told], None),
        ([told], [{"audio": "x"}]),
    ]
    assert run.messages[1].content == run.messages[3].content == [Text("t"), PICTURE]
    assert msgspec.json.decode(msgspec.json.encode(events[-1]))["images"] == [told]


async def test_answer_without_images_has_no_word_of_them(agent):
    answer = await agent(Recorder(DONE)).invoke({"prompt": "go"})

    assert answer.keys() == {"text", "usage", "finishReason", "steps"}
    assert answer["steps"][0].keys() == {"text", "toolCalls", "toolResults"}
